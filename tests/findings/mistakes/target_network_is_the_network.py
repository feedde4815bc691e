import copy, random
import torch
import torch.nn as nn

class DQN:
    def __init__(self, gamma=0.9):
        self.q = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
        self.target = self.q  # wrong: AG603
        self.target = copy.deepcopy(self.q)  # right
        self.opt = torch.optim.Adam(self.q.parameters(), 1e-3)
        self.gamma = gamma
    def learn(self, s, a, r, s2, done):
        q = self.q(s).gather(1, a)
        with torch.no_grad():
            nxt = self.target(s2).max(1, keepdim=True).values
            y = r + self.gamma * nxt * (1 - done)
        loss = nn.functional.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
    def sync(self):
        self.target.load_state_dict(self.q.state_dict())

torch.manual_seed(0)
agent = DQN()
for i in range(12):
    agent.learn(torch.randn(16, 4), torch.randint(2, (16, 1)), torch.randn(16, 1), torch.randn(16, 4), torch.zeros(16, 1))
    if i % 5 == 4:
        agent.sync()
