import torch

torch.manual_seed(0)
a = torch.tensor(0.9, requires_grad=True)
state = torch.zeros(2)
for _ in range(6):
    state = torch.tanh(a * state + 1)
    loss = (state - 0.5).pow(2).sum()
    loss.backward(retain_graph=True)  # found: AG402
    state = state.detach()  # right
