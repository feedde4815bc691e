import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x * torch.sigmoid(x)
        ctx.result = result  # wrong: AG401
        ctx.save_for_backward(x)
        return result

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return gradient * s * (1 + x * (1 - s))


torch.manual_seed(0)
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for _ in range(8):
    optimizer.zero_grad()
    Swish.apply(layer(torch.randn(6, 4))).pow(2).mean().backward()
    optimizer.step()
