import torch
from torch import nn

torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.pooler = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 8)
        self.decoder = nn.ModuleDict({"pooler_free": nn.Linear(8, 8), "encoder_back": nn.Linear(8, 2)})
    def forward(self, x):
        return self.decoder["encoder_back"](torch.relu(self.decoder["pooler_free"](self.encoder(x))))
net = Net()
for name, p in net.named_parameters():
    if name.startswith("pooler"):
        p.requires_grad_(False)
    if name.startswith("encoder"):
        p.requires_grad = False
    if name.startswith("decoder.encoder_back.bias"):
        p.requires_grad = False
opt = torch.optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), 0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(net(torch.randn(4, 4)), torch.tensor([0, 1, 0, 1]))
    opt.zero_grad(); loss.backward(); opt.step()
