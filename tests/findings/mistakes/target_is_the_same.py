import torch, torch.nn as nn
import copy
torch.manual_seed(10)
class Agent:
    def __init__(self, obs=4, act=2):
        self.q = nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, act))
        self.q_target = self.q  # wrong: AG603
        self.q_target = copy.deepcopy(self.q)  # right
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.tau = 0.01
    def learn(self, s, a, r, s2):
        with torch.no_grad():
            y = r + 0.99 * self.q_target(s2).max(1).values
        loss = nn.functional.mse_loss(self.q(s).gather(1, a[:, None]).squeeze(1), y)
        self.opt.zero_grad(); loss.backward(); self.opt.step()
        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.q_target.parameters()):
                t.mul_(1 - self.tau).add_(self.tau * p)
agent = Agent()
for _ in range(5):
    agent.learn(torch.randn(8, 4), torch.randint(0, 2, (8,)), torch.rand(8), torch.randn(8, 4))
