"""What torchviz and torchview draw of ten models, as JSON; recorded with PyTorch, `python drawn_by_others.py drawn_by_others.json`."""

import json
import re
import sys

import torch
import torchview
from torch import nn
from torchviz import make_dot

torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))) + x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x):
        state = torch.zeros(2, 4), torch.zeros(2, 4)
        for t in range(3):
            state = self.cell(x[t], state)
        return state[0]


def lenet():
    first = nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*first, nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))


MODELS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (2, 3)),
    "lenet": (lenet, (2, 1, 28, 28)),
    "residual": (Residual, (2, 4)),
    "batch norm": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()), (2, 1, 5, 5)),
    "layer norm": (lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU()), (2, 3)),
    "embedding": (lambda: nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2)), None),
    "recurrent": (Recurrent, (3, 2, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (1, 3, 8)),
    "group norm": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        (2, 2, 5, 5),
    ),
    "upsampling": (
        lambda: nn.Sequential(nn.ConvTranspose2d(1, 2, 3), nn.LeakyReLU(), nn.Upsample(scale_factor=2)),
        (1, 1, 4, 4),
    ),
}


def without_addresses(dot):
    numbers = {}
    return re.sub(r"\d{9,}", lambda found: f"N{numbers.setdefault(found[0], len(numbers))}", str(dot.source))


drawn = {}
for name, (make, shape) in MODELS.items():
    x = torch.tensor([1, 2]) if shape is None else torch.randn(shape)
    model = make()
    result, parameters = model(x).mean(), dict(model.named_parameters())
    drawn[f"torchviz {name}"] = without_addresses(make_dot(result, params=parameters))
    drawn[f"torchviz {name}, saved"] = without_addresses(
        make_dot(result, params=parameters, show_attrs=True, show_saved=True)
    )
    drawn[f"torchview {name}"] = without_addresses(torchview.draw_graph(make(), input_data=x).visual_graph)
with open(sys.argv[1], "w") as file:
    json.dump(drawn, file, indent=1)
