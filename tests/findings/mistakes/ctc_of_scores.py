import torch
from torch import nn

torch.manual_seed(0)
first, last, ctc = nn.GRU(8, 16), nn.Linear(16, 6), nn.CTCLoss()
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=1e-3)
x, words = torch.randn(12, 4, 8), torch.randint(1, 6, (4, 5))
for _ in range(5):
    scores = last(first(x)[0])
    scores = scores.log_softmax(2)  # right
    loss = ctc(scores, words, torch.full((4,), 12), torch.full((4,), 5))  # found: AG507
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
