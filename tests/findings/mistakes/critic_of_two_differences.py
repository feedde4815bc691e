import torch, torch.nn as nn
torch.manual_seed(0)
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-2)
for _ in range(4):
    obs, returns = torch.randn(16, 3), torch.randn(16)
    value = critic(obs).squeeze(1)
    logp = torch.log_softmax(actor(obs), 1)[:, 0]
    advantage = returns - value
    policy = -(logp * advantage).mean()  # wrong: AG512
    policy = -(logp * advantage.detach()).mean()  # right
    loss = policy + 0.5 * (returns - value).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
