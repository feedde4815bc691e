import torch
torch.manual_seed(0)
x = torch.randn(40, 3); y = x @ torch.tensor([1., -2., .5]) + .1
w = torch.zeros(3, requires_grad=True); b = torch.zeros(1, requires_grad=True)
opt = torch.optim.LBFGS([w, b], lr=1, max_iter=10, line_search_fn="strong_wolfe")
def closure():
    opt.zero_grad()
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    return loss
for i in range(4):
    opt.step(closure)
print(w)
