"""A backbone with batch norms stays in evaluation mode, frozen, and a new head is trained on it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.fc = nn.Linear(8, 5)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, images):
        with torch.no_grad():
            features = self.backbone(images)
        return self.fc(features)


def pretrained(model):
    """Give the backbone statistics, as a file of weights would."""
    norm = model.backbone[1]
    norm.running_mean.copy_(torch.randn(8) * 0.1)
    norm.running_var.copy_(torch.rand(8) + 0.5)


torch.manual_seed(0)
model = Classifier()
pretrained(model)
for p in model.backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
images, labels = torch.randn(16, 3, 9, 9), torch.randint(0, 5, (16,))
for epoch in range(8):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        model(images).argmax(1)
