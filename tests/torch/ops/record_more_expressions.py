"""Records with real PyTorch what functions that sort, select, split, copy, mask and transform give, into
more_expressions.json.

`python -m tests.torch.ops.record_more_expressions` from the repository's root; as record_expressions.py does for
everything else.
"""

from pathlib import Path

from tests.torch.ops.record_expressions import observe
from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("more_expressions.json")

CASES = """
torch.copysign(x,-2.)
torch.ldexp(x,j)
torch.frexp(x)
torch.float_power(x*x,1.5)
torch.nextafter(w,w+1)
torch.gcd(i,i*4)
torch.lcm(i,i+1)
x.signbit()
x.round(decimals=1)
torch.clamp(x,max=w)
torch.clamp_min(x,w)
torch.logaddexp(z,z*2)
z.conj_physical()
(x/0).nan_to_num(posinf=3.)
torch.std_mean(x,1,keepdim=True)
x.aminmax(dim=0)
(x*0).aminmax()
x.nanquantile(0.3,1,True)
x.quantile(w*0+0.5,0)
x.quantile(0.3,interpolation='midpoint')
x.cov(correction=0)
torch.cov(x,aweights=w.detach())
x.diff(2,1)
x.unfold(1,2,2**61)
x.unfold(0,1,2**50)
x.diff(prepend=x[:,:1])
torch.trapezoid(x,w)
torch.trapezoid(x,dx=0.5,dim=0)
torch.cumulative_trapezoid(x,w)
torch.gradient(x,dim=1)
torch.gradient(w,spacing=(w*w,))
torch.gradient(x,spacing=2.,dim=1,edge_order=2)
torch.unique(j,return_inverse=True,return_counts=True)
torch.unique(j,dim=0)
torch.unique_consecutive(j[0],return_counts=True)
torch.histc(x.detach(),4,-1,3)
torch.histogram(x.detach(),3)
torch.bincount(i,w.detach())
torch.bucketize(x.detach(),torch.tensor([0.,1.,2.],dtype=x.dtype),right=True)
torch.isin(i,torch.tensor([1,3]))
x.sort(stable=True).values
x.index_copy(1,i[:2]-1,x[:,:2])
x.index_fill(1,i[1:2],s)
x.index_reduce(0,j[0,:2],x,'mean')
x.index_reduce(0,j[0,:2],x*2,'amax',include_self=False)
x.scatter_reduce(1,j,x,'prod')
x.scatter_reduce(0,j,x,'amin',include_self=False)
x.scatter_reduce(1,j,x,'mean')
x.put(j,x*3)
x.put(j,x*3,accumulate=True)
torch.unravel_index(i,(2,3))
x.nonzero_static(size=7)
x.repeat_interleave(j[0,:2]+1,0)
torch.repeat_interleave(i)
torch.view_copy(x,(3,2))
torch.squeeze_copy(x[:1],0)
torch.unfold_copy(x,1,2,1)
torch.split_copy(x,2,1)
torch.slice_copy(x,1,0,2)
torch.expand_copy(w,(2,3))
torch.narrow_copy(x,1,1,2)
x.slice_scatter(x[:,:2]*2,1,1,3)
torch.diagonal_copy(x)
x.unsafe_chunk(2,1)
b.dsplit(2)
torch.block_diag(x,w,s)
torch.combinations(w,2,True)
torch.meshgrid(w,w[:2],indexing='xy')
torch.atleast_3d(w)
torch.rot90(x,3)
torch.segment_reduce(x,'prod',lengths=torch.tensor([1,1]))
torch.segment_reduce(x,'max',lengths=torch.tensor([2,0]),initial=-9.)
torch.masked.sum(x,1,mask=m)
torch.masked.mean(x,0,mask=m)
torch.masked.var(x,1,mask=m)
torch.masked.amax(x,1,mask=m)
torch.masked.argmin(x,1,mask=m)
torch.masked.cumprod(x,1,mask=m)
torch.masked.median(x,1,mask=m)
torch.masked.softmax(x,1,mask=m)
torch.masked.normalize(x,2.,1,mask=m)
torch.masked.logsumexp(x,1,mask=m)
torch.signal.windows.hann(5,dtype=torch.float64)
torch.signal.windows.kaiser(4,beta=3.,sym=False,dtype=torch.float64)
torch.signal.windows.exponential(5,tau=2.,dtype=torch.float64)
torch.signal.windows.gaussian(4,std=2.,dtype=torch.float64)
torch.hamming_window(6,dtype=torch.float64)
torch.kaiser_window(5,True,2.)
torch.stft(w.repeat(4),4,2,return_complex=True,window=w.new_ones(4))
torch.istft(torch.stft(w.repeat(4),4,1,return_complex=True,window=w.new_ones(4)),4,1,window=w.new_ones(4))
torch.ops.aten.slice(x,1,0,2)
torch.fill(x,s)
y = x*1; y.cumprod_(1); y
y = x*1; y.triu_(1); y
y = x*1; y.index_fill_(0,j[0,:1],2.); y
y = x*1; y.scatter_reduce_(1,j,x,'amax'); y
y = x*1; y.lerp_(x*3,w); y
y = x*1; y.clip_(w*0,w); y
y = x*1; y.swapaxes_(0,1); y
y = x*1; y.squeeze_(0); y
y = x*1; y.nan_to_num_(); y
y = x*1; y.renorm_(2,0,1.); y
""".strip().splitlines()


if __name__ == "__main__":
    record(EXPECTED, CASES, observe)
