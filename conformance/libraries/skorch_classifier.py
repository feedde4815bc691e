# skorch: a scikit-learn classifier around a module
import sys

import numpy as np
import torch

sys.modules["torch_geometric"] = None  # which skorch imports where it is installed
from skorch import NeuralNetClassifier  # noqa: E402
from torch import nn  # noqa: E402

torch.manual_seed(0)
X = np.random.RandomState(0).randn(64, 4).astype("float32")
y = (X.sum(1) > 0).astype("int64")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.net(x)


net = NeuralNetClassifier(Net, max_epochs=3, lr=0.1, train_split=None, verbose=0, iterator_train__shuffle=True)
net.fit(X, y)
print(net.history[:, "train_loss"], (net.predict(X) == y).mean())
