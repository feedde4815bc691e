import torch

torch.manual_seed(0)
rnn = torch.nn.GRUCell(3, 4)
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
hidden = torch.zeros(2, 4)
for chunk in torch.randn(4, 2, 3):
    hidden = rnn(chunk, hidden)
    optimizer.zero_grad()
    hidden.pow(2).sum().backward()  # found: AG001
    optimizer.step()
    hidden = hidden.detach()  # right
