import torch

points = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], requires_grad=True)
squares = (points - points[0]).pow(2).sum(1)
distances = torch.sqrt(squares)  # wrong: AG302
distances = torch.sqrt(squares + 1e-12)  # right
distances.sum().backward()
