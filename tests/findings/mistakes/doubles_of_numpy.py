import numpy as np
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
x = torch.from_numpy(np.ones((4, 3)))
x = x.float()  # right
loss = net(x).sum()  # wrong: AG015
loss = net(x).sum()  # right
loss.backward()
