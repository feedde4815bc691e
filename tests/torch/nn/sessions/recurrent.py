# ruff: noqa: F821  (names are given by record_sessions.py)
rnn = nn.utils.rnn
x = torch.arange(30, dtype=torch.float64).reshape(5, 2, 3)
for wrong in (
    lambda: nn.LSTM(3, 4)(x[0, 0].float()), lambda: nn.RNN(3, 4)(x[0, 0]), lambda: nn.LSTM(3, 4)(torch.zeros(5, 2, 4)),
    lambda: nn.LSTM(3, 4)(torch.zeros(5, 2, 3), (torch.zeros(1, 2), torch.zeros(1, 2))),
    lambda: nn.LSTM(3, 4)(torch.zeros(5, 3), (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))),
    lambda: nn.LSTM(3, 4)(torch.zeros(5, 2, 3), (torch.zeros(1, 2, 5), torch.zeros(1, 2, 4))),
    lambda: nn.GRU(3, 4)(torch.zeros(5, 2, 3), torch.zeros(1, 2)), lambda: nn.GRU(3, 4)(torch.zeros(0, 2, 3)),
    lambda: nn.GRU(3, 4)(torch.zeros(5, 2, 3), torch.zeros(1, 2, 5)), lambda: nn.RNN(3, 4, nonlinearity="abs"),
    lambda: nn.LSTM(3, 4, proj_size=4), lambda: nn.LSTM(3, 0), lambda: nn.LSTM(3, 4.0), lambda: nn.LSTM(3, 4, 0),
    lambda: nn.LSTM(3, 4, dropout=2), lambda: nn.LSTM(3, 4, dropout=0.5), lambda: nn.LSTM(3, 4, proj_size=-1),
    lambda: nn.RNNCell(3, 4)(torch.zeros(2, 2)), lambda: nn.RNNCell(3, 4)(torch.zeros(1, 2, 3)),
    lambda: nn.GRUCell(3, 4)(torch.zeros(2, 3), torch.zeros(1, 4)), lambda: nn.GRUCell(3, 4)(torch.zeros(2, 3), torch.zeros(2, 5)),
    lambda: nn.RNNCell(3, 4, nonlinearity="abs")(torch.zeros(2, 3)),
    lambda: rnn.pack_padded_sequence(x, [2, 5]), lambda: rnn.pack_padded_sequence(x, [2]),
    lambda: rnn.pack_padded_sequence(x, [2, 0]), lambda: rnn.pad_sequence(3), lambda: rnn.pad_sequence([]),
    lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [5, 2]), total_length=3),
):
    attempt(wrong)
print(nn.LSTM(3, 4, 2, bias=False, dropout=0.5, bidirectional=True, proj_size=2), nn.RNN(3, 4, nonlinearity="relu"))
print(nn.RNNCell(3, 4, False, "relu"), nn.GRUCell(3, 4))
x.requires_grad_()
for batch_first in (False, True):
    lengths = [3, 5] if not batch_first else [1, 2, 2, 1, 1]
    packed = rnn.pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=False)
    print(packed)
    padded, back = rnn.pad_packed_sequence(packed, batch_first=batch_first, padding_value=-1.0, total_length=6)
    print(padded, back, names(padded.grad_fn))
    (grad,) = torch.autograd.grad((padded**2).sum(), x, create_graph=True)
    print(grad.sum(), names(grad.grad_fn), torch.autograd.grad((grad**2).sum(), x)[0].sum())
a, b = torch.ones(3, 2, requires_grad=True), torch.zeros(1, 2, requires_grad=True)
for settings in ({}, {"batch_first": True}, {"padding_side": "left", "padding_value": 7.0}):
    joined = rnn.pad_sequence([b, a], **settings)
    print(joined, names(joined.grad_fn))
print(rnn.pack_sequence([a, b]), rnn.unpack_sequence(rnn.pack_sequence([b, a], enforce_sorted=False)))
print(rnn.unpad_sequence(rnn.pad_sequence([b, a]), torch.tensor([1, 3])), packed.double().data.dtype, packed.is_cuda)
for kind, settings in ((nn.LSTM, {"bidirectional": True}), (nn.LSTM, {"proj_size": 2}), (nn.GRU, {}), (nn.RNN, {})):
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(0)
        layer = kind(2, 3, **settings).to(dtype)
        steps = torch.randn(2, 1, 2, dtype=dtype, requires_grad=True)
        y, _ = layer(steps)
        first = torch.autograd.grad((y**2).sum(), [steps, *layer.parameters()], create_graph=True)
        print(kind.__name__, names(y.grad_fn), names(first[0].grad_fn), names(first[1].grad_fn))
        second = torch.autograd.grad(sum((g**2).sum() for g in first), [steps, *layer.parameters()])
        print(*[f"{g.sum():.3f}" for g in (*first, *second)])
