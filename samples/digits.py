"""A small LeNet learns to read scanned digits; `--epochs 1 --pictures 256` is a short run."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

try:
    from sklearn.datasets import load_digits
except ImportError:
    raise SystemExit("digits.py needs the pictures that come with scikit-learn: pip install scikit-learn") from None

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--pictures", type=int, help="use only so many of the 1797")
args = parser.parse_args()


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, pictures):
        return self.classifier(self.features(pictures))


torch.manual_seed(0)
digits = load_digits()
pictures = torch.tensor(digits.images[: args.pictures], dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target[: args.pictures])
held_out = len(labels) // 5
train, test = random_split(TensorDataset(pictures, labels), [len(labels) - held_out, held_out])
loader = DataLoader(train, batch_size=32, shuffle=True)

model = LeNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(args.epochs):
    total = 0.0
    for batch, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    print(f"epoch {epoch}: loss {total / len(train):.2f}")

model.eval()
with torch.no_grad():
    right = sum((model(batch).argmax(1) == target).sum().item() for batch, target in DataLoader(test, batch_size=256))
print(f"{100 * right / held_out:.0f} % of {held_out} held-out digits read")
