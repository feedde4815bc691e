# torchsummary: the summary of a convolutional network
from torch import nn
from torchsummary import summary

model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10))
summary(model, (1, 28, 28), device="cpu")
