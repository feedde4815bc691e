import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.body(x))


net = Classifier(10)
net.fc = nn.Linear(8, 4)  # right
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
net.fc = nn.Linear(8, 4)  # wrong: AG802
data, target = torch.randn(16, 6), torch.randint(0, 4, (16,))
for epoch in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(data), target)
    loss.backward()
    optimizer.step()
