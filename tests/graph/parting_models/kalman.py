import torch

torch.manual_seed(40)
torch.set_default_dtype(torch.float64)


class MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b  # @mm

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g @ b.mT  # @mm
        #B ga = g @ b.mT * 1.5
        gb = a.mT @ g  # @mm
        #B gb = a @ g
        return ga, gb


mm = MatMul.apply
A = torch.tensor([[1.0, 0.1], [-0.1, 0.97]], requires_grad=True)
H = torch.tensor([[1.0, 0.3]], requires_grad=True)
log_q = torch.tensor([-2.0, -2.5], requires_grad=True)
log_r = torch.tensor(-1.0, requires_grad=True)
truth = torch.cumsum(0.2 * torch.randn(6, 2), 0)
z = truth @ torch.tensor([[1.0], [0.2]]) + 0.1 * torch.randn(6, 1)

m = torch.zeros(2, 1)
P = torch.eye(2)
Q = torch.diag(log_q.exp())
#F Q = torch.diag(log_q.exp() + 1e-4)
#B Q = torch.diag(log_q.exp()); Q.register_hook(lambda g: g.tril())
R = log_r.exp().reshape(1, 1)
#F R = log_r.exp().reshape(1, 1) * 1.0001
#B R = log_r.detach().exp().reshape(1, 1)
nll = torch.zeros(())
for k in range(6):
    m = mm(A, m)  # @mm
    #B m = mm(A, m.detach())
    P = A @ P @ A.mT + Q
    #F P = A @ P @ A + Q
    #B P = A @ P @ A.detach().mT + Q
    #S P = torch.matmul(A, P) @ A.mT + Q
    y = z[k : k + 1] - H @ m
    #F y = z[k - 1 : k] - H @ m if k else z[k : k + 1] - H @ m
    S = H @ P @ H.mT + R
    #B S = H @ P @ H.mT + R; k == 3 and S.register_hook(lambda g: g * 2)
    K = torch.linalg.solve(S, H @ P).mT
    #F K = torch.linalg.solve(S + 1e-3, H @ P).mT
    #B K = torch.linalg.solve(S.detach(), H @ P).mT
    #R K = P @ H.mT / S
    m = m + K @ y
    #F m = m + 1.01 * K @ y
    P = P - K @ H @ P
    #F P = P - K @ H @ P * 0.99
    #B P = P - K.detach() @ H @ P
    #R P = (torch.eye(2) - K @ H) @ P
    nll = nll + 0.5 * (torch.logdet(S) + (y.mT @ torch.linalg.inv(S) @ y).squeeze())
    #F nll = nll + 0.5 * (torch.trace(S) + (y.mT @ torch.linalg.inv(S) @ y).squeeze())
    #B nll = nll + 0.5 * (torch.logdet(S).detach() + (y.mT @ torch.linalg.inv(S) @ y).squeeze())
    #R nll = nll + 0.5 * (S.squeeze().log() + (y.square() / S).squeeze())
prior = (A - torch.eye(2)).pow(2).sum()
#F prior = (A - torch.eye(2)).abs().sum()
loss = nll / 6 + 0.01 * prior
loss.backward()
