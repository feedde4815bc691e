# captum: integrated gradients and saliency of a small network
import torch
from captum.attr import IntegratedGradients, Saliency
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
x = torch.rand(2, 3)
attributions, delta = IntegratedGradients(model).attribute(
    x, torch.zeros(2, 3), target=0, return_convergence_delta=True
)
print(attributions, delta.abs() < 1e-2)
print(Saliency(model).attribute(x, target=1))
