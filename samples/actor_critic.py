"""An actor and a critic learn to balance a pole on a cart; `--rounds 2` is a short run."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=40)
args = parser.parse_args()


def pushed(state, right):
    """The carts 20 ms after a push of 10 N: position (m), speed, angle (rad) and its speed, a row each."""
    x, speed, angle, turning = state.unbind(1)
    force = 20.0 * right - 10.0
    thrust = (force + 0.05 * turning**2 * angle.sin()) / 1.1
    bend = (9.8 * angle.sin() - angle.cos() * thrust) / (0.5 * (4 / 3 - 0.1 * angle.cos() ** 2 / 1.1))
    push = thrust - 0.05 * bend * angle.cos() / 1.1
    return torch.stack([x + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * turning, turning + 0.02 * bend], 1)


def fallen(state):
    return (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 0.21)


torch.set_default_dtype(torch.float64)  # in float32 another rounding soon draws another action
torch.manual_seed(0)
CARTS, STEPS = 16, 20
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
state = 0.1 * torch.rand(CARTS, 4) - 0.05
for i in range(args.rounds):
    log_chances, values, entropies, falls = [], [], [], []
    for _ in range(STEPS):
        choice = torch.distributions.Categorical(logits=actor(state))
        right = choice.sample()
        log_chances.append(choice.log_prob(right))
        entropies.append(choice.entropy())
        values.append(critic(state).squeeze(1))
        state = pushed(state, right)
        falls.append(fallen(state))
        state = torch.where(falls[-1].unsqueeze(1), 0.1 * torch.rand(CARTS, 4) - 0.05, state)

    worth, gains = critic(state).squeeze(1).detach(), []
    for fell in reversed(falls):
        worth = torch.where(fell, 0.0, 1.0 + 0.95 * worth)
        gains.insert(0, worth)
    advantage = torch.stack(gains) - torch.stack(values)
    actor_loss = -(torch.stack(log_chances) * advantage.detach()).mean() - 0.01 * torch.stack(entropies).mean()
    loss = actor_loss + 0.5 * (advantage**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0 or i == args.rounds - 1:
        print(f"round {i}: loss {loss.item():.2f}, falls {torch.stack(falls).sum().item()}")
