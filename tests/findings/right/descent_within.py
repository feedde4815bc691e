import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 3)); opt = torch.optim.SGD(net.parameters(), 0.05)
def pgd(x, y, eps=0.1, a=0.03, k=3):
    d = torch.zeros_like(x).uniform_(-eps, eps).requires_grad_()
    for _ in range(k):
        nn.functional.cross_entropy(net(x + d), y).backward()
        d.data = (d + a * d.grad.detach().sign()).clamp(-eps, eps)
        d.grad.zero_()
    return d.detach()
for _ in range(4):
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    adv = pgd(x, y)
    opt.zero_grad()
    nn.functional.cross_entropy(net(x + adv), y).backward()
    opt.step()
