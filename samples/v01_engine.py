"""PyTorch v0.1's engine in a page: Variable, Function, Leaf, previous_functions. Its gradients are a graph, too."""
import torch


class Variable:
    def __init__(self, data, creator=None, requires_grad=False):
        self.data, self.grad, self.requires_grad = data, None, requires_grad
        self.creator = creator or Leaf(self)

    def backward(self, gradient=None):
        run_backward(self.creator, torch.ones_like(self.data) if gradient is None else gradient)

    def __add__(self, other):
        return Add()(self, other)

    def __mul__(self, other):
        return Mul()(self, other)

    def sin(self):
        return Sin()(self)


class Function:
    def __call__(self, *inputs):
        self.previous_functions = [x.creator for x in inputs]
        self.requires_grad = any(x.creator.requires_grad for x in inputs)
        return Variable(self.forward(*[x.data for x in inputs]), creator=self)


class Leaf(Function):
    def __init__(self, variable):
        self.variable, self.previous_functions, self.requires_grad = variable, [], variable.requires_grad

    def backward(self, grad):
        self.variable.grad = grad if self.variable.grad is None else self.variable.grad + grad
        return ()


class Add(Function):
    def forward(self, a, b):
        return a + b

    def backward(self, grad):
        return grad, grad


class Mul(Function):
    def forward(self, a, b):
        self.saved_tensors = a, b
        return a * b

    def backward(self, grad):
        a, b = self.saved_tensors
        return grad * b, grad * a


class Sin(Function):
    def forward(self, x):
        self.saved_tensors = x
        return torch.sin(x)

    def backward(self, grad):
        return (grad * torch.cos(self.saved_tensors),)


def dependencies_of(root):
    """How many gradients each function waits for."""
    waits, seen, queue = {root: 0}, {root}, [root]
    while queue:
        for previous in queue.pop().previous_functions:
            waits[previous] = waits.get(previous, 0) + 1
            if previous not in seen:
                seen.add(previous)
                queue.append(previous)
    return waits


def run_backward(root, gradient):
    waits, grads, ready = dependencies_of(root), {root: gradient}, [root]
    while ready:
        function = ready.pop()
        for previous, grad in zip(function.previous_functions, function.backward(grads[function]), strict=False):
            grads[previous] = grads[previous] + grad if previous in grads else grad
            waits[previous] -= 1
            if not waits[previous] and previous.requires_grad:
                ready.append(previous)


x = torch.tensor(0.5, requires_grad=True)
w = torch.tensor(2.0, requires_grad=True)

v, u = Variable(x, requires_grad=True), Variable(w, requires_grad=True)
y = (v * u).sin() * v + v
y.backward()
dx, dw = v.grad, u.grad
print(f"y = {y.data.item():.4f}, dy/dx = {dx.item():.4f}, dy/dw = {dw.item():.4f}")

known = torch.autograd.grad(y.data, (x, w), retain_graph=True)
print("as torch.autograd:", torch.allclose(dx, known[0]) and torch.allclose(dw, known[1]))

dx.backward()  # what the page above computed is a graph, too
print(f"d2y/dx2 = {x.grad.item():.4f}, d2y/dxdw = {w.grad.item():.4f}")
