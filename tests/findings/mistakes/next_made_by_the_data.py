import torch, torch.nn as nn
from torch.utils.data import DataLoader, Dataset
class Text(Dataset):
    ids = torch.arange(91) * 7 % 15
    def __len__(self):
        return 10
    def __getitem__(self, n):
        at = 9 * n
        return self.ids[at : at + 9], self.ids[at + 1 : at + 10]
class Model(nn.Module):
    def __init__(self, v=15, d=8):
        super().__init__()
        self.e, self.head = nn.Embedding(v, d), nn.Linear(d, v)
        self.layer = nn.TransformerEncoderLayer(d, 2, 16, dropout=0.0, batch_first=True)
    def forward(self, x):  # wrong: AG511
        return self.head(self.layer(self.e(x)))  # wrong
    def forward(self, x):  # right
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])  # right
        return self.head(self.layer(self.e(x), src_mask=mask, is_causal=True))  # right
torch.manual_seed(0)
net = Model()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for x, y in DataLoader(Text(), batch_size=5):
    loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
