import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.distributions import Normal, kl_divergence


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 8, batch_first=True)
        self.logits, self.mu, self.rho = nn.Linear(8, 6), nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, seq):
        _, h = self.rnn(seq)
        h = h.squeeze(0)
        #F h = h.squeeze(0) * 0.9
        #B h = h.squeeze(0); h.register_hook(lambda g: g * 2)
        return self.logits(h), Normal(self.mu(h), F.softplus(self.rho(h)) + 1e-3)
        #F return self.logits(h), Normal(self.mu(h), F.softplus(self.rho(h)) + 1e-1)
        #B return self.logits(h.detach()), Normal(self.mu(h), F.softplus(self.rho(h)) + 1e-3)
        #B return self.logits(h), Normal(self.mu(h).detach(), F.softplus(self.rho(h)) + 1e-3)


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, soft):
        ctx.save_for_backward(soft)
        return F.one_hot(soft.argmax(-1), soft.size(-1)).to(soft.dtype)  # @quant

    @staticmethod
    def backward(ctx, g):
        (soft,) = ctx.saved_tensors
        return g * soft  # @quant
        #B return g
        #B return g * soft * (1 - soft)
        #B return (g - (g * soft).sum(-1, keepdim=True)) * soft


def straight_through(logits, noise, tau):
    soft = F.softmax((logits + noise) / tau, dim=-1)
    #F soft = F.softmax((logits + noise) / tau ** 2, dim=-1)
    #B soft = F.softmax((logits + noise) / tau, dim=-1); soft.register_hook(lambda g: g * 0.5)
    #S soft = ((logits + noise) / tau).softmax(-1)
    hard = Quantize.apply(soft)  # @quant
    #F hard = Quantize.apply(soft.flip(-1))
    #F hard = Quantize.apply(soft) * 1.5
    return hard


torch.manual_seed(77)
enc = Encoder()
book = nn.Parameter(torch.randn(6, 5) * 0.5)
dec = nn.Sequential(nn.Linear(9, 12), nn.Mish(), nn.Linear(12, 6 * 3))
adam = optim.AdamW([*enc.parameters(), *dec.parameters(), book], lr=3e-3, weight_decay=0.1)
x = torch.randn(4, 6, 3)
gumbels = -torch.empty(4, 6).exponential_().log()
for tau in (1.0, 0.7):
    adam.zero_grad()
    logits, q = enc(x)
    codes = straight_through(logits, gumbels, tau) @ book
    #F codes = straight_through(logits, gumbels, tau) @ book.tanh()
    #B codes = straight_through(logits, gumbels, tau) @ book.detach()
    z = q.rsample()
    #F z = q.rsample() + 0.2
    #B z = q.rsample(); z.register_hook(lambda g: g.clamp(min=0))
    out = dec(torch.cat([codes, z], 1)).view_as(x)
    #B out = dec(torch.cat([codes.detach(), z], 1)).view_as(x)
    #F out = dec(torch.cat([codes, -z], 1)).view_as(x)
    rec = F.huber_loss(out, x, delta=0.6)
    #F rec = F.huber_loss(out, x, delta=0.8)
    #B rec = F.huber_loss(out, x, delta=0.6); rec.register_hook(lambda g: g * 1.1)
    probs = logits.softmax(-1)
    entropy = (probs * (probs + 1e-9).log()).sum(-1).mean()
    #F entropy = (probs * (probs + 1e-2).log()).sum(-1).mean()
    #B entropy = (probs.detach() * (probs + 1e-9).log()).sum(-1).mean()
    #R entropy = torch.einsum("bk,bk->b", probs, (probs + 1e-9).log()).mean()
    kl = kl_divergence(q, Normal(torch.zeros(4), torch.ones(4))).sum(-1).mean()
    #F kl = kl_divergence(q, Normal(torch.zeros(4), 1.2 * torch.ones(4))).sum(-1).mean()
    #B kl = kl_divergence(Normal(q.loc, q.scale.detach()), Normal(torch.zeros(4), torch.ones(4))).sum(-1).mean()
    #R kl = 0.5 * (q.scale ** 2 + q.loc ** 2 - 1 - 2 * q.scale.log()).sum(-1).mean()
    loss = rec + 0.1 * entropy + 0.05 * kl
    #F loss = rec - 0.1 * entropy + 0.05 * kl
    #B loss = rec + 0.1 * entropy.detach() + 0.05 * kl
    loss.backward()
    adam.step()
