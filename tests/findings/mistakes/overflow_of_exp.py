import torch

scores = torch.tensor([1.0, 90.0, 100.0], requires_grad=True)
e = torch.exp(scores)  # wrong: AG301
p = e / e.sum()  # wrong
p = torch.softmax(scores, 0)  # right
p[0].backward()
