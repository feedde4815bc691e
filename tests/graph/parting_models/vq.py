import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, codes=8, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(codes, dim))
        self.beta = beta

    def forward(self, z):
        dist = torch.cdist(z, self.codebook)
        index = dist.argmin(-1)
        q = self.codebook[index]
        #B q = self.codebook.detach()[index]
        commit = F.mse_loss(z, q.detach())
        #B commit = F.mse_loss(z, q)
        #F commit = F.l1_loss(z, q.detach())
        embed = F.mse_loss(q, z.detach())
        #B embed = F.mse_loss(q, z)
        #R embed = (q - z.detach()).square().mean()
        st = z + (q - z).detach()
        #B st = q + (z - z.detach())* 0.5
        #B st = q.detach()
        #B st = z + (q - z).detach(); st.register_hook(lambda g: g * (g.abs() > 1e-3))
        return st, embed + self.beta * commit
        #F return st, embed + 0.26 * commit
        #B return st, embed + self.beta * commit.detach()


class RoundST(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        ctx.save_for_backward(x)
        return torch.round(x / scale) * scale  # @st
        #F return torch.floor(x / scale + 0.5 - 1e-3) * scale * 1.001

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 0.3), None  # @st
        #B return g, None
        #B return g * (x.abs() <= 0.3) * ctx.scale, None
        #B return g * (x <= 0.3), None


torch.manual_seed(35)
enc = nn.Sequential(nn.Linear(6, 12), nn.Mish(), nn.Linear(12, 4))
dec = nn.Sequential(nn.Linear(4, 12), nn.Mish(), nn.Linear(12, 6))
vq = Quantizer()
x = torch.randn(9, 6)
params = [*enc.parameters(), *dec.parameters(), *vq.parameters()]
opt = torch.optim.NAdam(params, lr=2e-3)
for i in range(2):
    z = enc(x)
    #S z = enc.forward(x)
    #B z = enc(x); z.register_hook(lambda g: g.mean(0, keepdim=True).expand_as(g))
    s = RoundST.apply(z, 0.25)  # @st
    #F s = RoundST.apply(z, 0.2)
    st, vq_loss = vq(z + 0.3 * s)
    out = dec(st)
    #F out = dec(st) * 0.999
    #R out = dec(st * 0.7 / 0.7)
    rec = F.huber_loss(out, x)
    #F rec = F.huber_loss(out, x, delta=0.5)
    #F rec = F.huber_loss(out, x, reduction="sum")
    loss = rec + vq_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
