import copy

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_q = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(10):
    state, action = torch.randn(16, 4), torch.randint(0, 2, (16,))
    reward, after = torch.randn(16), torch.randn(16, 4)
    with torch.no_grad():
        expected = reward + 0.99 * target_q(after).max(1).values
    value = q(state).gather(1, action.unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, expected)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        target_q.load_state_dict(q.state_dict())
