"""Calls between ranks, as code that sees `torch`, `dist`, `rank` and `size` and leaves `out`."""

_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "float8_e5m2", "float16", "bfloat16", "float32",
           "float64", "complex64")  # fmt: skip
_OPS = ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG")

CASES = {
    f"all_reduce {op} of {dtype}": f"out = torch.tensor([[1, 2], [3, 0]]).add(rank).to(torch.{dtype})\n"
    f"dist.all_reduce(out, dist.ReduceOp.{op})"
    for dtype in _DTYPES
    for op in _OPS
} | {
    "a number": "out = torch.tensor(3.0) + rank\ndist.all_reduce(out)",
    "a number by itself": "out = torch.tensor([3.0, 4.0])[1]\ndist.all_reduce(out)",
    "a transposed matrix": "out = torch.arange(6.0).reshape(2, 3).t()\ndist.all_reduce(out)",
    "a slice of a vector": "x = torch.arange(6.0)\ndist.all_reduce(x[2:4])\nout = x",
    "the version stays": "x = torch.ones(3)\ndist.all_reduce(x)\nout = [x._version, x]",
    "a leaf that requires a gradient": "out = torch.ones(3, requires_grad=True)\ndist.all_reduce(out)",
    "a result keeps its node": "x = torch.ones(2, requires_grad=True) * 2\ndist.all_reduce(x)\nout = [x, x.grad_fn.name()]",
    "nothing": "out = torch.ones(0)\ndist.all_reduce(out)",
    "an asynchronous call": "x = torch.ones(2)\nw = dist.all_reduce(x, async_op=True)\nout = [w.wait(), w.is_completed(), x]",
    "a future": "x = torch.ones(2)\nout = dist.all_reduce(x, async_op=True).get_future().wait()",
    "a chain of futures": "x = torch.ones(2)\nf = dist.all_reduce(x, async_op=True).get_future()\n"
    "out = f.then(lambda g: g.value()[0] / size).then(lambda g: g.value() + 1).wait()",
    "two at once": "x, y = torch.ones(2), torch.ones(3)\n"
    "a, b = dist.all_reduce(x, async_op=True), dist.broadcast(y, 0, async_op=True)\nb.wait(), a.wait()\nout = [x, y]",
    "what is no tensor": "dist.all_reduce([1])",
    "reduce": "x = torch.ones(4) + rank\ndist.reduce(x, 1)\nout = x if rank == 1 else None",
    "reduce to a mean": "x = torch.ones(4) + rank\ndist.reduce(x, 0, dist.ReduceOp.AVG)\nout = x if rank == 0 else None",
    "broadcast": "out = torch.ones(2, 2) * rank\ndist.broadcast(out, 1)",
    "broadcast of int16": "out = torch.ones(2, dtype=torch.int16) * rank\ndist.broadcast(out, 1)",
    "broadcast by a number in the group": "out = torch.ones(2) * rank\ndist.broadcast(out, group_src=1)",
    "broadcast from nowhere": "dist.broadcast(torch.ones(2), 9)",
    "broadcast from two": "dist.broadcast(torch.ones(2), 0, group_src=0)",
    "broadcast from none": "dist.broadcast(torch.ones(2))",
    "all_gather": "out = [torch.zeros(2) for _ in range(size)]\ndist.all_gather(out, torch.ones(2) + rank)",
    "all_gather of bfloat16": "out = [torch.zeros(2, dtype=torch.bfloat16) for _ in range(size)]\n"
    "dist.all_gather(out, torch.ones(2, dtype=torch.bfloat16) + rank)",
    "all_gather into views": "x = torch.zeros(size, 4)\n"
    "dist.all_gather([x[i, ::2] for i in range(size)], torch.ones(2) + rank)\nout = x",
    "all_gather into another size": "dist.all_gather([torch.zeros(2 + i) for i in range(size)], torch.ones(2))",
    "all_gather into too few": "dist.all_gather([torch.zeros(2)], torch.ones(2))",
    "all_gather into another dtype": "dist.all_gather([torch.zeros(2).double()] * size, torch.ones(2))",
    "all_gather into no list": "dist.all_gather(torch.zeros(2), torch.ones(2))",
    "all_gather into numbers": "dist.all_gather([1, 2], torch.ones(2))",
    "all_gather_single": "out = torch.zeros(2 * size)\ndist.all_gather_single(out, torch.ones(2) + rank)",
    "all_gather_into_tensor": "out = torch.zeros(2 * size)\ndist.all_gather_into_tensor(out, torch.ones(2) + rank)",
    "reduce_scatter": "out = torch.zeros(2)\ndist.reduce_scatter(out, [torch.ones(2) * i + rank for i in range(size)])",
    "reduce_scatter to a mean": "out = torch.zeros(2)\n"
    "dist.reduce_scatter(out, [torch.ones(2) * i + rank for i in range(size)], dist.ReduceOp.AVG)",
    "reduce_scatter_single": "out = torch.zeros(2)\ndist.reduce_scatter_single(out, torch.arange(2.0 * size) + rank)",
    "reduce_scatter_tensor of halves": "out = torch.zeros(2, dtype=torch.float16)\n"
    "dist.reduce_scatter_tensor(out, torch.arange(2 * size).half() + rank)",
    "all_to_all": "out = [torch.zeros(2) for _ in range(size)]\n"
    "dist.all_to_all(out, [torch.ones(2) * i + rank * 10 for i in range(size)])",
    "all_to_all_single": "out = torch.zeros(size, 2)\ndist.all_to_all_single(out, torch.arange(2.0 * size).reshape(size, 2) + 100 * rank)",
    "all_to_all_single in unequal parts": "out = torch.zeros(size * (rank + 1))\n"
    "dist.all_to_all_single(out, torch.arange(size * (size + 1) / 2) + 100 * rank, [rank + 1] * size, [i + 1 for i in range(size)])",
    "gather": "out = [torch.zeros(2) for _ in range(size)] if rank == 1 else None\ndist.gather(torch.ones(2) + rank, out, 1)",
    "gather into nothing": "if rank == 0:\n    dist.gather(torch.ones(2), None, 0)",
    "scatter": "out = torch.zeros(2)\n"
    "dist.scatter(out, [torch.ones(2) * i for i in range(size)] if rank == 0 else None, 0)",
    "scatter of nothing": "if rank == 0:\n    dist.scatter(torch.ones(2), None, 0)",
    "send and recv": "x = torch.ones(3) * rank\nout = dist.send(x, 1) if rank == 0 else [dist.recv(x, 0), x] if rank == 1 else None",
    "recv from anybody": "x = torch.ones(3)\nout = dist.send(x, 0, tag=9) if rank == 1 else [dist.recv(x, tag=9), x] if rank == 0 else None",
    "tags": "x, y = torch.ones(1), torch.zeros(1)\n"
    "if rank == 0:\n    a, b = dist.isend(x, 1, tag=5), dist.isend(y, 1, tag=6)\n    a.wait(), b.wait()\n"
    "if rank == 1:\n    a, b = dist.irecv(x, 0, tag=6), dist.irecv(y, 0, tag=5)\n    a.wait(), b.wait()\nout = [x, y]",
    "a ring": "x = torch.zeros(2)\nops = [dist.P2POp(dist.isend, torch.ones(2) * rank, (rank + 1) % size),"
    " dist.P2POp(dist.irecv, x, (rank - 1) % size)]\nfor w in dist.batch_isend_irecv(ops):\n    w.wait()\nout = x",
    "send to oneself": "dist.send(torch.ones(2), rank)",
    "objects of all": "out = [None] * size\ndist.all_gather_object(out, {'rank': rank, 'list': list(range(rank))})",
    "objects of one": "out = [rank, str(rank)]\ndist.broadcast_object_list(out, 1)",
    "an object for each": "out = [None]\n"
    "dist.scatter_object_list(out, [{i} for i in range(size)] if rank == 0 else None, 0)",
    "objects on one": "out = [None] * size if rank == 0 else None\ndist.gather_object(rank * 2, out, 0)",
    "objects from one to another": "out = [rank, None]\n"
    "if rank == 0:\n    dist.send_object_list(['a', 1], 1)\nif rank == 1:\n    dist.recv_object_list(out, 0)",
    "a group": "g = dist.new_group([0, 1])\nout = torch.ones(1)\n"
    "if rank < 2:\n    dist.all_reduce(out, group=g)\nout = [out, dist.get_rank(g), dist.get_world_size(g)]",
    "a group in another order": "g = dist.new_group([1, 0], sort_ranks=False)\n"
    "out = [dist.get_rank(g), dist.get_process_group_ranks(g)] if rank < 2 else g",
    "another group": "g = dist.new_group([1])\nout = dist.all_reduce(torch.ones(2), group=g)",
    "a root by its rank in the world": "g = dist.new_group([1])\nout = torch.ones(1) * rank\nif rank == 1:\n    dist.broadcast(out, 1, group=g)",
    "a root outside of the group": "g = dist.new_group([1])\nif rank == 1:\n    dist.broadcast(torch.ones(1), 0, group=g)",
    "a rank that is not there": "dist.new_group([9])",
    "a rank twice": "dist.new_group([0, 0])",
    "pairs": "g, all = dist.new_subgroups(2)\nout = [len(all), dist.get_rank(g), dist.get_global_rank(g, 0)]",
    "groups that do not fit": "dist.new_subgroups(3)",
    "ranks and names": "w = dist.group.WORLD\nout = [dist.get_backend(), dist.get_backend_config(), w.group_name, w.rank(), w.size(),"
    " dist.get_process_group_ranks(w), dist.is_initialized(), dist.is_available()]",
    "twice": "dist.init_process_group('gloo', rank=rank, world_size=size)",
    "barrier": "out = dist.barrier()",
    "all_reduce_coalesced": "x, y = torch.ones(2), torch.ones(3)\ndist.all_reduce_coalesced([x, y])\nout = [x, y]",
    "monitored_barrier": "out = dist.monitored_barrier()",
    "kinds of reductions": "out = [repr(dist.ReduceOp.SUM), str(dist.ReduceOp.AVG), dist.ReduceOp.SUM == dist.ReduceOp.SUM,"
    " dist.supports_complex(dist.ReduceOp.MAX)]",
}  # fmt: skip
_MOVED = {
    "broadcast": "out = x\ndist.broadcast(out, 1)",
    "all_gather": "out = [torch.zeros_like(x) for _ in range(size)]\ndist.all_gather(out, x)",
    "gather": "out = [torch.zeros_like(x) for _ in range(size)] if rank == 0 else None\ndist.gather(x, out, 0)",
    "scatter": "out = torch.zeros_like(x)\ndist.scatter(out, [x.clone() for _ in range(size)] if rank == 0 else None, 0)",
    "all_to_all": "out = [torch.zeros_like(x) for _ in range(size)]\ndist.all_to_all(out, [x.clone() for _ in range(size)])",
    "reduce_scatter": "out = torch.zeros_like(x)\ndist.reduce_scatter(out, [x] * size)",
}
_SHAPES = {
    "a number": "torch.tensor(2.0) + rank",
    "nothing": "torch.zeros(3, 0)",
    "a transposed matrix": "(torch.arange(6.0) + rank).reshape(2, 3).t()",
    "an expanded number": "(torch.ones(1) + rank).expand(3)",
    "channels last": "(torch.arange(16.0) + rank).reshape(1, 4, 2, 2).to(memory_format=torch.channels_last)",
    "bool": "torch.tensor([True, False]) ^ bool(rank)",
    "uint8": "torch.tensor([250, 7], dtype=torch.uint8) + rank",
    "int8": "torch.tensor([-128, 7], dtype=torch.int8) + rank",
    "bfloat16": "torch.tensor([1.5, 2.0], dtype=torch.bfloat16) + rank",
    "float16": "torch.tensor([1.5, 2.0], dtype=torch.float16) + rank",
}
CASES |= {f"{shape}: {name}": f"x = {made}\n{code}" for shape, made in _SHAPES.items() for name, code in _MOVED.items()}
CASES |= {
    "scatter of too few": "if rank == 0:\n    dist.scatter(torch.ones(1), [torch.ones(1)], 0)",
    "scatter into another size": "if rank == 0:\n    dist.scatter(torch.ones(1), [torch.ones(2)] * size, 0)",
    "objects for each, tensors": "out = [None]\n"
    "dist.scatter_object_list(out, [torch.ones(i + 1) for i in range(size)] if rank == 1 else [None] * size, src=1)",
    "many objects": "out = [list(range(20000)) if rank == 0 else None, 'x' * rank]\n"
    "dist.broadcast_object_list(out, 0)\nout = [len(out[0]), out[1]]",
    "objects on one that is not the first": "out = [None] * size if rank == 1 else None\n"
    "dist.gather_object({'rank': rank}, out, dst=1)",
    "all to all others": "xs = [torch.zeros(2) for _ in range(size)]\n"
    "ops = [dist.P2POp(dist.isend, torch.ones(2) * rank, i) for i in range(size) if i != rank]\n"
    "ops += [dist.P2POp(dist.irecv, xs[i], i) for i in range(size) if i != rank]\n"
    "[work.wait() for work in dist.batch_isend_irecv(ops)]\nout = xs",
    "an operation between two": "out = [str(dist.P2POp(f, torch.ones(1), 1 - rank)) for f in (dist.isend, dist.irecv)] if rank < 2 else None",
    "groups in groups": "groups = [dist.new_group(range(n)) for n in range(size, 0, -1)]\nout = torch.ones(1) * (rank + 1)\n"
    "for n, g in zip(range(size, 0, -1), groups):\n    if rank < n:\n        dist.all_reduce(out, group=g)",
    "a root in a group in another order": "g = dist.new_group([1, 0], sort_ranks=False)\n"
    "out = [torch.zeros(1), torch.zeros(1)] if rank == 1 else None\n"
    "if rank < 2:\n    dist.gather(torch.ones(1) * rank, out, dst=1, group=g)",
    "objects of a group": "g = dist.new_group([0, 1])\nout = [None, None]\n"
    "if rank < 2:\n    dist.all_gather_object(out, rank, group=g)",
    "a wait for all that goes on": "work = dist.barrier(async_op=True)\nwork.wait()\nout = work.is_completed()",
}
"""A rank that a case does not name does nothing in it; an error is one on all ranks that make the call."""

_GRAPH = """
def nodes(fn, depth=0):
    return "" if fn is None else fn.name() + "(" + ", ".join(nodes(f, depth + 1) for f, _ in fn.next_functions if f) + ")"
def leave(y):
    (g,) = torch.autograd.grad((y * y * (rank + 1)).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * (rank + 2)).sum(), x)
    return [y, nodes(y.grad_fn), g, nodes(g.grad_fn), h]
F = dist.nn.functional
x = torch.arange(2.0 * size).reshape(size, 2).add(rank).requires_grad_()
"""
DIFFERENTIABLE = {
    "all_reduce": "out = leave(F.all_reduce(x * 1))",
    "all_reduce to a mean": "out = leave(F.all_reduce(x * 1, dist.ReduceOp.AVG))",
    "broadcast": "out = leave(F.broadcast(x * 1, 1))",
    "reduce": "out = leave(F.reduce(x * 1, 1))[1::2]",
    "gather": "out = leave(torch.stack(F.gather(x * 1, 1)))",
    "scatter": "out = leave(F.scatter(list(x.unbind()), 1))",
    "all_gather": "out = leave(torch.stack(F.all_gather(x * 1)))",
    "all_to_all": "out = leave(torch.stack(F.all_to_all([torch.zeros(2) for _ in range(size)], list(x.unbind()))))",
    "all_to_all_single": "out = leave(F.all_to_all_single(torch.zeros(size, 2), x * 1))",
    "reduce_scatter": "out = leave(F.reduce_scatter(torch.zeros(2), list(x.unbind())))",
}
CASES |= {f"differentiable {name}": _GRAPH + code for name, code in DIFFERENTIABLE.items()}

AFTER = {
    "get_rank": "dist.get_rank()",
    "all_reduce": "dist.all_reduce(torch.ones(1))",
    "barrier": "dist.barrier()",
    "destroy_process_group": "dist.destroy_process_group()",
    "WORLD": "out = [dist.group.WORLD, dist.is_initialized()]",
    "an unknown method": "dist.init_process_group('gloo', 'bla://', rank=0, world_size=1)",
}
"""What is answered after `destroy_process_group`."""
