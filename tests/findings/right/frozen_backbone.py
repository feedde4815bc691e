import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
for parameter in body.parameters():
    parameter.requires_grad = False
body.eval()
head = nn.Linear(4, 3)
optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
for _ in range(5):
    images, labels = torch.randn(6, 3, 8, 8), torch.randint(0, 3, (6,))
    loss = nn.functional.cross_entropy(head(body(images)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
