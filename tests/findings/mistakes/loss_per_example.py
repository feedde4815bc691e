import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
loss_of = torch.nn.CrossEntropyLoss(reduction="none")  # wrong
loss_of = torch.nn.CrossEntropyLoss()  # right
loss = loss_of(net(torch.randn(2, 4)), torch.tensor([0, 2]))
loss.backward()  # found: AG007
