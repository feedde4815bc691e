"""An agent with a loss of policy, one of value and one of entropy, on a walk of states."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)
        nn.init.orthogonal_(self.pi.weight, 0.01)

    def forward(self, obs):
        h = self.body(obs)
        return self.pi(h), self.v(h).squeeze(-1)


def rollout(agent, n=10):
    state = torch.randn(4) * 0.1
    log_probs, values, rewards, entropies = [], [], [], []
    for _ in range(n):
        logits, value = agent(state)
        logp = F.log_softmax(logits, dim=-1)
        action = torch.multinomial(logp.exp().detach(), 1).item()
        state = state.roll(1) * 0.9 + (0.1 if action else -0.1)
        log_probs.append(logp[action])
        entropies.append(-(logp.exp() * logp).sum())
        values.append(value)
        rewards.append(1.0 - float(state.abs().sum()))
    return torch.stack(log_probs), torch.stack(values), rewards, torch.stack(entropies)


torch.manual_seed(0)
agent = Agent()
optim = torch.optim.RMSprop(agent.parameters(), lr=7e-4, eps=1e-5)
for episode in range(8):
    log_probs, values, rewards, entropies = rollout(agent)
    ret, returns = 0.0, []
    for r in reversed(rewards):
        ret = r + 0.95 * ret
        returns.insert(0, ret)
    returns = torch.tensor(returns)
    advantage = returns - values
    policy_loss = -(log_probs * advantage.detach()).mean()
    value_loss = advantage.pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * entropies.mean()
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optim.step()
