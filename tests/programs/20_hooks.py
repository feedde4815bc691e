"""Hooks on tensors and nodes; a post-accumulate hook that averages over two replicas, as data parallelism does."""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
h.register_hook(lambda grad: grad * 10)
h.retain_grad()
out = (h**2).sum()
handle = out.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print("node", [tuple(g.shape) for g in grad_inputs]))
out.backward(retain_graph=True)
print(h.grad, x.grad)
handle.remove()

replicas = [torch.ones(2, requires_grad=True) for _ in range(2)]
ready = []
for replica in replicas:
    replica.register_post_accumulate_grad_hook(ready.append)
(replicas[0] * 2).sum().backward()
(replicas[1] * 4).sum().backward()
average = sum(replica.grad for replica in ready) / len(ready)
print(average)
