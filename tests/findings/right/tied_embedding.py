import torch
from torch import nn
torch.manual_seed(0)
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(11, 6)
        self.rnn = nn.GRU(6, 6, batch_first=True)
        self.out = nn.Linear(6, 11, bias=False)
        self.out.weight = self.emb.weight
    def forward(self, w):
        return self.out(self.rnn(self.emb(w))[0])
net = LM()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
words = torch.randint(0, 11, (4, 7))
for _ in range(4):
    loss = nn.functional.cross_entropy(net(words[:, :-1]).reshape(-1, 11), words[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=False)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
