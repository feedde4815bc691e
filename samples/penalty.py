"""A gradient penalty: the loss holds a gradient, so its backward goes through a backward."""
import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

score = torch.sin(w * x).sum()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
penalty = (slope.norm() - 1) ** 2
loss = score + 10 * penalty
loss.backward()

print(f"score {score.item():.4f}, penalty {penalty.item():.4f}")
print("w.grad", w.grad)
