# ruff: noqa: B023, F821  (loops call at once; names are given by record_sessions.py)
for lazy, given in (
    (nn.LazyLinear(3), (2, 5)), (nn.LazyConv2d(3, 2), (1, 4, 5, 5)), (nn.LazyConvTranspose1d(3, 2), (1, 4, 5)),
    (nn.LazyBatchNorm1d(), (3, 4)), (nn.LazyInstanceNorm2d(), (1, 2, 4, 4)),
):
    print(lazy, [type(p).__name__ for p in lazy.parameters()])
    torch.manual_seed(2)
    lazy(torch.ones(given))
    print(lazy, type(lazy).__name__, [p.shape for p in lazy.parameters()], lazy.state_dict()[next(iter(lazy.state_dict()))])
lazy = nn.LazyLinear(3)
attempt(lambda: lazy.weight.shape)
print(dict(lazy.state_dict()))
lazy.load_state_dict(nn.Linear(4, 3).state_dict())
print(lazy.weight.shape)
torch.manual_seed(0)
adaptive = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])
x = torch.randn(5, 8, requires_grad=True)
found = adaptive(x, torch.tensor([1, 5, 11, 19, 3]))
print(adaptive, found, names(found.loss.grad_fn), adaptive.log_prob(x).shape, adaptive.predict(x))
found.loss.backward()
print(x.grad[0], [p.grad.shape for p in adaptive.parameters()])
for wrong in (
    lambda: adaptive(x, torch.tensor([1, 5, 11, 25, 3])), lambda: adaptive(x, torch.tensor([1, 5])),
    lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [10, 4]), lambda: adaptive(x, torch.ones(5, 2).long()),
):
    attempt(wrong)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2, nn.LayerNorm(8)).eval()
steps, padding = torch.randn(2, 4, 8), torch.tensor([[False] * 3 + [True], [False] * 2 + [True] * 2])
with torch.no_grad():
    print((encoder(steps, src_key_padding_mask=padding) * 100).round() + 0.0)
print((encoder(steps, src_key_padding_mask=padding) * 100).round().detach() + 0.0)
for settings in ({}, {"norm_first": True}, {"activation": torch.tanh, "batch_first": True}):
    attempt(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, **settings), 1).num_layers)
attempt(lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"))
attempt(lambda: nn.Transformer(8, 2, 1, 1, 16)(torch.ones(4, 3, 8), torch.ones(5, 2, 8)))
print(nn.Transformer.generate_square_subsequent_mask(3), nn.DataParallel(nn.Linear(1, 1)))
attempt(lambda: nn.LinearCrossEntropyOptions(batch_chunk_size=0))
