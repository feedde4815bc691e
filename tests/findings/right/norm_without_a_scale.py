# batch norm used on purpose without a learned scale: batch statistics are wanted
import torch, torch.nn as nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.norm.weight.requires_grad_(False); self.norm.bias.requires_grad_(False)
        self.fc = nn.Linear(6, 2)
    def forward(self, x):
        return self.fc(self.norm(x))
net = Net()
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for _ in range(4):
    x = torch.randn(16, 6) * 5 + 3; y = (x[:, 0] > 3).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
