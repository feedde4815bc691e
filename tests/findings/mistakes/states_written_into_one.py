import torch

torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True)
states = torch.zeros(5, 4)
for t in range(1, 5):
    states[t] = torch.tanh(states[t - 1] @ w)  # wrong: AG002
    states[t] = torch.tanh(states[t - 1].clone() @ w)  # right
states.sum().backward()
