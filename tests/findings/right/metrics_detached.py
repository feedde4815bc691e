import torch, torch.nn as nn
from collections import defaultdict, deque
torch.manual_seed(0)
class Meter:
    def __init__(self): self.d = defaultdict(lambda: deque(maxlen=50))
    def log(self, **kw):
        for k, v in kw.items(): self.d[k].append(v.detach())
net = nn.Linear(6, 3); opt = torch.optim.SGD(net.parameters(), .1, momentum=.9, nesterov=True); meter = Meter()
for i in range(12):
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    out = net(x); loss = nn.functional.cross_entropy(out, y)
    meter.log(loss=loss, acc=(out.argmax(1) == y).float().mean())
    opt.zero_grad(set_to_none=False); loss.backward(); opt.step()
