# CTC/HMM forward recursion in log space, with -inf for impossible states
import torch
torch.manual_seed(0)
trans = torch.randn(4, 4, requires_grad=True); emit = torch.randn(4, 6, requires_grad=True)
allowed = torch.ones(4, 4).triu() > 0
obs = torch.randint(6, (7,))
opt = torch.optim.SGD([trans, emit], .1)
for i in range(4):
    A = trans.masked_fill(~allowed, float("-inf")).log_softmax(1); B = emit.log_softmax(1)
    alpha = torch.cat([torch.zeros(1), torch.full((3,), -1e4)]) + B[:, obs[0]]
    for o in obs[1:]:
        alpha = torch.logsumexp(alpha[:, None] + A, 0) + B[:, o]
    loss = -torch.logsumexp(alpha, 0)
    opt.zero_grad(); loss.backward(); opt.step()
