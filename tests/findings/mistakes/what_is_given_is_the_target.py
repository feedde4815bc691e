import torch, torch.nn as nn
torch.manual_seed(0)
class Decoder(nn.Module):
    def __init__(self, v=12, h=8):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(v, h), nn.GRU(h, h, batch_first=True), nn.Linear(h, v)
    def forward(self, ids):
        return self.o(self.r(self.e(ids))[0])
net = Decoder()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(4):
    ids = torch.randint(0, 12, (6, 9))
    given, wanted = ids, ids  # wrong
    given, wanted = ids[:, :-1], ids[:, 1:]  # right
    loss = nn.functional.cross_entropy(net(given).transpose(1, 2), wanted)  # wrong: AG511
    loss = nn.functional.cross_entropy(net(given).transpose(1, 2), wanted)  # right
    opt.zero_grad(); loss.backward(); opt.step()
