import math
import torch
from torch import nn


class ClipGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, bound):
        ctx.bound = bound
        return h.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.bound, ctx.bound), None  # @clip
        #B return grad_output.clamp(-ctx.bound, ctx.bound) * 0.5, None
        #B return grad_output.clamp(0, ctx.bound), None


class GRUCell(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.x2h = nn.Linear(n_in, 3 * n_hid)
        self.h2h = nn.Linear(n_hid, 3 * n_hid)
        for p in self.parameters():
            p.data.uniform_(-1 / math.sqrt(n_hid), 1 / math.sqrt(n_hid))

    def forward(self, x, h):
        i_r, i_z, i_n = self.x2h(x).chunk(3, 1)
        #B i_r, i_z, i_n = self.x2h(x.detach()).chunk(3, 1)
        h_r, h_z, h_n = self.h2h(h).chunk(3, 1)
        r = torch.sigmoid(i_r + h_r)
        #F r = torch.sigmoid(i_r - h_r)
        #B r = torch.sigmoid(i_r + h_r); r.register_hook(lambda g: -g)
        z = torch.sigmoid(i_z + h_z)
        #F z = torch.nn.functional.hardsigmoid(i_z + h_z)
        #R z = 1 / (1 + torch.exp(-(i_z + h_z)))
        n = torch.tanh(i_n + r * h_n)
        #F n = torch.tanh(i_n + h_n)
        #S n = (i_n + r * h_n).tanh()
        return (1 - z) * n + z * h
        #F return (1 - z) * n + z * h * 1.0005
        #B return (1 - z) * n + z.detach() * h
        #R return n + z * (h - n)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(17, 6, padding_idx=0)
        self.cell = GRUCell(6, 8)
        self.out = nn.Linear(8, 4)

    def forward(self, ids):
        h = torch.zeros(ids.size(0), 8)
        states = []
        for t in range(ids.size(1)):
            h = self.cell(self.emb(ids[:, t]), h)
            h = ClipGrad.apply(h, 0.05)  # @clip
            #F h = ClipGrad.apply(h, 0.05) + 1e-3
            states.append(h)
        y = torch.stack(states, 1)
        #S y = torch.stack(states, dim=1)
        return self.out(y)
        #B return self.out(y.detach() * 0.25 + y * 0.75)


torch.manual_seed(1)
net = Tagger()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
ids = torch.tensor([[3, 5, 16, 2, 0], [4, 4, 1, 0, 0], [9, 8, 7, 6, 5]])
tags = torch.tensor([[1, 2, 0, 3, -100], [1, 1, 2, -100, -100], [0, 1, 2, 3, 0]])
for _ in range(2):
    opt.zero_grad(set_to_none=True)
    scores = net(ids)
    loss = nn.functional.cross_entropy(scores.transpose(1, 2), tags)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print(loss.item())
