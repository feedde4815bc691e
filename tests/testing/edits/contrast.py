# Two views of each sample are brought together; a teacher follows the student, as in BYOL and MoCo.
import copy
import math

import torch
import torch.nn.functional as F

torch.manual_seed(1)
TEMPERATURE = 0.2
TAU = 0.99
queue = torch.linspace(-1, 1, 24).view(6, 4)


def mlp(inputs, hidden, outputs):
    layers = [torch.nn.Linear(inputs, hidden), torch.nn.GELU(), torch.nn.LayerNorm(hidden)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(hidden, outputs))


student = mlp(5, 8, 4)
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
scale = torch.nn.Parameter(torch.tensor(math.log(1 / 0.07)))
noise = torch.distributions.Normal(0.0, 0.1)


def info_nce(q, k, negatives):
    q = F.normalize(q, dim=-1)
    k = F.normalize(k, dim=-1)
    pos = (q * k).sum(dim=-1, keepdim=True)
    neg = q @ F.normalize(negatives, dim=1).t()
    logits = torch.cat([pos, neg], dim=1) / TEMPERATURE
    target = torch.zeros(len(q), dtype=torch.long)
    return F.cross_entropy(logits, target)


def spread(z):
    z = z - z.mean(dim=0)
    cov = (z.T @ z) / (len(z) - 1)
    off = cov - torch.diag(torch.diagonal(cov))
    std = torch.sqrt(z.var(dim=0) + 1e-4)
    return off.pow(2).sum() / z.shape[1] + F.relu(1 - std).mean()


data = torch.randn(12, 5)
optimizer = torch.optim.AdamW([*student.parameters(), scale], lr=3e-4, betas=(0.9, 0.999))
history = []
for step in range(2):
    batch = data[step * 6 : (step + 1) * 6]
    one = batch + noise.sample(batch.shape)
    two = batch * (torch.rand_like(batch) > 0.1).float()
    q = student(one)
    with torch.no_grad():
        k = teacher(two)
    aux = spread(q)
    nce = info_nce(q, k, queue)
    similarity = scale.exp().clamp(max=100.0) * F.cosine_similarity(q, k)
    gap = (similarity - similarity.detach().max()).abs().mean()
    loss = nce + 0.5 * aux + 0.01 * gap
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for ours, theirs in zip(student.parameters(), teacher.parameters()):
            theirs.mul_(TAU).add_(ours, alpha=1 - TAU)
    history.append(loss.item())
print("loss: " + ", ".join(f"{x:.3f}" for x in history))
