# torchinfo: the summary of a convolutional network
from torch import nn
from torchinfo import summary

model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10))
print(summary(model, input_size=(4, 1, 28, 28), verbose=0))
