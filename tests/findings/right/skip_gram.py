"""Words beside words, one pair at a time: the sum of the losses is a chain as long as the text."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
words = [torch.randn(4).requires_grad_() for _ in range(5)]
context = [torch.randn(4).requires_grad_() for _ in range(5)]
optimizer = torch.optim.SGD([*words, *context], lr=0.05)
for _step in range(2):
    loss = torch.zeros(())
    for turn in range(100):
        centre, near, far = turn % 5, (turn * 2 + 1) % 5, (turn * 3 + 2) % 5
        loss = loss - F.logsigmoid(words[centre] @ context[near]) - F.logsigmoid(-(words[centre] @ context[far]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
