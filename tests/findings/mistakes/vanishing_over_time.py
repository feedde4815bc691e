import torch

torch.manual_seed(0)
cell = torch.nn.RNNCell(2, 4)
with torch.no_grad():
    cell.weight_hh.copy_(0.05 * torch.eye(4))  # wrong
    cell.weight_hh.copy_(torch.eye(4))  # right
h = torch.zeros(3, 4)
for x in torch.randn(40, 3, 2) * 0.1:
    h = cell(x, h)  # found: AG306
h.pow(2).sum().backward()
