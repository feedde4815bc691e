# torch-geometric: a two-layer GCN on a random graph
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

torch.manual_seed(0)
data = Data(x=torch.randn(10, 5), edge_index=torch.randint(0, 10, (2, 30)), y=torch.randint(0, 3, (10,)))


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(5, 16)
        self.conv2 = GCNConv(16, 3)

    def forward(self, data):
        x = F.relu(self.conv1(data.x, data.edge_index))
        return F.log_softmax(self.conv2(x, data.edge_index), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(3):
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), data.y)
    loss.backward()
    optimizer.step()
    print(loss)
