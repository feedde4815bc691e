import torch, torch.nn as nn
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4))
opt = torch.optim.Adam(policy.parameters(), 1e-3)
def evaluate(s, a):
    return policy(s).log_softmax(-1).gather(1, a[:, None]).squeeze(1)
for _ in range(4):
    s, a, adv = torch.randn(20, 5), torch.randint(0, 4, (20,)), torch.randn(20)
    old = evaluate(s, a)
    old = old.detach()  # right
    ratio = torch.exp(evaluate(s, a) - old)  # wrong: AG513
    ratio = torch.exp(evaluate(s, a) - old)  # right
    loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 1e-3 * policy[0].weight.square().sum()
    opt.zero_grad(); loss.backward(); opt.step()
