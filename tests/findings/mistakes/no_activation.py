import torch

torch.manual_seed(0)
w1 = torch.nn.Parameter(torch.randn(5, 8) * 0.3)
w2 = torch.nn.Parameter(torch.randn(8, 2) * 0.3)
b1 = torch.nn.Parameter(torch.zeros(8))


def model(x):
    h = torch.einsum("bi,ij->bj", x, w1) + b1
    h = torch.tanh(h)  # right
    return h @ w2  # wrong: AG509
    return h @ w2  # right


x, y = torch.randn(20, 5), torch.randn(20, 2)
optimizer = torch.optim.SGD([w1, w2, b1], lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
