"""Q-learning from a replay memory with a target that is copied over now and then."""

import copy
import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
policy = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
target = copy.deepcopy(policy)
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-4, amsgrad=True)
memory = deque(maxlen=200)
state = torch.randn(3)
for t in range(60):
    if random.random() < max(0.1, 1 - t / 40):
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(policy(state).argmax())
    nxt = (state + (0.1 if action else -0.1) * torch.ones(3)).clamp(-2, 2)
    memory.append((state, action, float(-nxt.abs().sum()), nxt))
    state = nxt
    if len(memory) < 16 or t % 4:
        continue
    s, a, r, n = zip(*random.sample(list(memory), 16))
    q = policy(torch.stack(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        goal = torch.tensor(r) + 0.99 * target(torch.stack(n)).max(1).values
    loss = nn.functional.smooth_l1_loss(q, goal)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
    optimizer.step()
    if t % 12 == 0:
        target.load_state_dict(policy.state_dict())
