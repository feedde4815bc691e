import torch
import torch.nn as nn
import torch.nn.functional as F


def encoder(channels):
    return nn.Sequential(nn.Conv2d(channels, 6, 3, stride=2), nn.GroupNorm(2, 6), nn.GELU(), nn.Flatten(), nn.Linear(54, 8))


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.depth = encoder(3), encoder(1)
        self.log_scale = nn.Parameter(torch.tensor(1.5))
        self.queue = nn.Parameter(torch.randn(5, 8), requires_grad=False)

    def embed(self, image, depth):
        a = F.normalize(self.image(image), dim=-1)
        #F a = F.normalize(self.image(image), dim=-1, p=1)
        #B a = F.normalize(self.image(image), dim=-1); a.register_hook(lambda g: g.round(decimals=2))
        b = F.normalize(self.depth(depth), dim=-1)
        #B b = F.normalize(self.depth(depth), dim=-1).detach()
        #R b = self.depth(depth); b = b / b.square().sum(-1, keepdim=True).sqrt().clamp_min(1e-12)
        return a, b

    def forward(self, image, depth):
        a, b = self.embed(image, depth)
        scale = self.log_scale.exp().clamp(max=100.0)
        #F scale = self.log_scale.exp().clamp(max=4.0)
        #B scale = self.log_scale.detach().exp().clamp(max=100.0)
        logits = scale * a @ b.t()
        #R logits = a @ b.t() * scale
        #F logits = scale * a @ b.t() - 0.01 * torch.eye(4)
        labels = torch.arange(len(logits))
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        #F loss = F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)
        #B loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels).detach()) / 2
        #S loss = torch.div(F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels), 2)
        negatives = torch.logsumexp(a @ F.normalize(self.queue, dim=-1).t(), dim=-1).mean()
        #F negatives = torch.logsumexp(a @ self.queue.t(), dim=-1).mean()
        #B negatives = torch.logsumexp(a.detach() @ F.normalize(self.queue, dim=-1).t(), dim=-1).mean()
        spread = torch.pdist(b).pow(2).mul(-2).exp().mean().log()
        #F spread = torch.pdist(b).pow(2).mul(-2.02).exp().mean().log()
        return loss + 0.1 * negatives + 0.2 * spread
        #B return loss + 0.1 * negatives + 0.2 * spread.detach()


torch.manual_seed(4)
model = Clip()
image, depth = torch.randn(4, 3, 8, 8), torch.randn(4, 1, 8, 8)
loss = model(image, depth)
loss.backward()
