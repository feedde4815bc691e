import numpy as np
import torch

w = torch.ones(3, requires_grad=True)
p = torch.from_numpy(np.exp(w.detach().numpy()))  # wrong
p = torch.exp(w)  # right
loss = p.sum()
loss.backward()  # found: AG004
