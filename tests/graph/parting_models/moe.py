import torch
from torch import nn
from torch.nn import functional as F


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d, h, bias=False), nn.Linear(h, d, bias=False), nn.Linear(d, h, bias=False)

    def forward(self, x):
        gated = F.silu(self.w1(x)) * self.w3(x)
        #F gated = F.gelu(self.w1(x)) * self.w3(x)
        #B gated = F.silu(self.w1(x)) * self.w3(x) * 0.5 + (F.silu(self.w1(x)) * self.w3(x) * 0.5).detach()
        #R gated = self.w1(x) * torch.sigmoid(self.w1(x)) * self.w3(x)
        return self.w2(gated)


class MoE(nn.Module):
    def __init__(self, d=6, h=8, n=4, k=2):
        super().__init__()
        self.k, self.n = k, n
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(Expert(d, h) for _ in range(n))

    def forward(self, x):
        logits = self.gate(x)
        probs = F.softmax(logits, dim=-1, dtype=torch.float32)
        #B probs = F.softmax(logits, dim=-1, dtype=torch.float32); probs.register_hook(lambda g: g + 0.01 * torch.arange(4.0))
        weights, chosen = torch.topk(probs, self.k, dim=-1)
        #B weights, chosen = torch.topk(probs.detach(), self.k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        #F weights = weights / weights.norm(dim=-1, keepdim=True)
        #B weights = weights / weights.sum(dim=-1, keepdim=True).detach()
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            y = weights[token, slot, None] * expert(x[token])
            #F y = weights[token, 1 - slot, None] * expert(x[token])
            #B y = weights[token, slot, None].detach() * expert(x[token])
            #S y = torch.mul(weights[token, slot, None], expert(x[token]))
            out = out.index_add(0, token, y)
            #F out = out.index_add(0, token, y, alpha=1.01)
        load = torch.zeros(self.n).scatter_add(0, chosen.flatten(), torch.ones(chosen.numel())) / chosen.numel()
        aux = self.n * (load * probs.mean(0)).sum()
        #F aux = self.n * (load * probs.amax(0)).sum()
        #B aux = self.n * (load * probs.detach().mean(0)).sum()
        #R aux = (self.n * load).dot(probs.sum(0)) / probs.size(0)
        return out, aux


torch.manual_seed(42)
layer, head = MoE(), nn.Linear(6, 3)
params = [*layer.parameters(), *head.parameters()]
opt = torch.optim.RMSprop(params, lr=1e-3)
x, t = torch.randn(9, 6), torch.randint(3, (9,))
for i in range(2):
    y, aux = layer(x)
    z = x + F.normalize(y, dim=-1)
    ce = F.cross_entropy(head(z), t)
    #S ce = F.cross_entropy(head(z), target=t)
    loss = ce + 0.01 * aux
    #F loss = ce + 0.02 * aux
    #B loss = ce + 0.01 * aux * 3 - (0.02 * aux).detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), aux.item())
