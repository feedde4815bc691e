import torch

logits = torch.tensor([[0.0, 200.0, -200.0]], requires_grad=True)
p = torch.softmax(logits, dim=1)
entropy = -(p * torch.log(p)).sum()  # wrong: AG301
entropy = -(p * torch.log_softmax(logits, dim=1)).sum()  # right
entropy.backward()
