"""Model-agnostic meta-learning on sines: the gradient goes through the gradient step that each task takes."""
import torch

torch.manual_seed(0)
shapes = [(1, 20), (20,), (20, 1), (1,)]
weights = [torch.nn.Parameter(0.3 * torch.randn(shape)) for shape in shapes]
optimizer = torch.optim.Adam(weights, lr=0.01)


def predict(x, w):
    return torch.tanh(x @ w[0] + w[1]) @ w[2] + w[3]


def loss_of(w, amplitude, phase, x):
    return ((predict(x, w) - amplitude * torch.sin(x + phase)) ** 2).mean()


for step in range(60):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(4):
        amplitude, phase = 0.5 + 2 * torch.rand(1), 3 * torch.rand(1)
        before = loss_of(weights, amplitude, phase, 6 * torch.rand(10, 1) - 3)
        slopes = torch.autograd.grad(before, weights, create_graph=True)
        adapted = [w - 0.05 * g for w, g in zip(weights, slopes, strict=True)]
        loss = loss_of(adapted, amplitude, phase, 6 * torch.rand(10, 1) - 3)
        loss.backward()
        total += loss.item() / 4
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss after adapting {total:.3f}")
