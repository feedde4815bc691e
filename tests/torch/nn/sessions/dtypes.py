# ruff: noqa: F821  (names are given by record_sessions.py)
F = nn.functional
a, b, h = torch.ones(2, 2), torch.ones(2, 2).double(), torch.ones(2, 2).bfloat16()
i, ones = torch.ones(2, 2).long(), torch.ones(2).double()
image = torch.ones(1, 2, 3, 3)
r = torch.ones(2, 2, requires_grad=True)
CALLS = {
    "products": [
        lambda: a @ b, lambda: i @ a, lambda: a @ b[0], lambda: b[0] @ a, lambda: a[None] @ b[None], lambda: torch.mm(b, a),
        lambda: torch.mv(b, a[0]), lambda: torch.addmm(a, b, a), lambda: torch.addmm(b, a, a), lambda: torch.addmm(a, a, b),
        lambda: torch.addmv(b[0], a, a[0]), lambda: torch.bmm(a[None], b[None]), lambda: torch.baddbmm(a[None], a[None], b[None]),
        lambda: torch.addbmm(a, a[None], b[None]), lambda: torch.tensordot(a, b, 1), lambda: torch.chain_matmul(a, b),
        lambda: F.bilinear(a, b, a[None]), lambda: F.bilinear(a, a, a[None], ones[:1]), lambda: torch.cdist(a, b),
    ],
    "layers": [
        lambda: nn.Linear(2, 2)(b), lambda: nn.Linear(2, 2)(i), lambda: nn.Linear(2, 2)(i.byte()), lambda: nn.Linear(2, 2)(h),
        lambda: F.linear(a, a, ones), lambda: nn.Linear(2, 2)(b[None]), lambda: nn.Conv2d(2, 2, 1)(image.double()),
        lambda: nn.Conv2d(2, 2, 1)(image.half()), lambda: nn.Conv2d(2, 2, 1, bias=False)(image.byte()), lambda: nn.Conv1d(2, 2, 1)(b),
        lambda: nn.ConvTranspose2d(2, 2, 1)(image.double()), lambda: nn.LSTM(2, 2)(b), lambda: nn.GRU(2, 2)(h), lambda: nn.RNN(2, 2)(i),
        lambda: nn.LSTMCell(2, 2)(b), lambda: nn.GRUCell(2, 2)(b), lambda: nn.MultiheadAttention(2, 1)(b, b, b),
        lambda: nn.TransformerEncoderLayer(2, 1)(b[None]), lambda: nn.PReLU()(b), lambda: F.grid_sample(image, b.expand(1, 2, 2, 2)),
    ],
    "norms": [
        lambda: nn.BatchNorm1d(2)(b), lambda: nn.BatchNorm1d(2).eval()(b), lambda: nn.BatchNorm1d(2, affine=False)(b),
        lambda: nn.BatchNorm1d(2, affine=False, track_running_stats=False)(b).dtype, lambda: nn.BatchNorm1d(2)(h).dtype,
        lambda: nn.BatchNorm1d(2)(i), lambda: F.batch_norm(a, ones, ones, training=True), lambda: nn.LayerNorm(2)(b),
        lambda: nn.LayerNorm(2)(h).dtype, lambda: nn.LayerNorm(2)(i), lambda: F.layer_norm(i, (2,)), lambda: F.layer_norm(a, (2,), ones),
        lambda: nn.GroupNorm(1, 2)(b), lambda: F.group_norm(a, 1, ones), lambda: nn.InstanceNorm1d(2, affine=True)(b[None]),
    ],
    "losses": [
        lambda: F.binary_cross_entropy(r, b), lambda: F.binary_cross_entropy(r, i), lambda: F.binary_cross_entropy_with_logits(r, i),
        lambda: F.binary_cross_entropy_with_logits(r, b).dtype, lambda: F.binary_cross_entropy_with_logits(r, i.bool()),
        lambda: F.mse_loss(r, b).dtype, lambda: F.mse_loss(i, i), lambda: F.mse_loss(r, i).dtype,
        lambda: F.cross_entropy(r, torch.ones(2)), lambda: F.cross_entropy(r, torch.ones(2).int()), lambda: F.cross_entropy(i, i[0]),
        lambda: F.nll_loss(r, i[0], weight=ones), lambda: F.cross_entropy(r, i[0], weight=ones),
    ],
    "others": [
        lambda: a.masked_fill(i, 0.0), lambda: a.masked_fill(i.byte(), 0.0), lambda: a.masked_fill(a, 0.0), lambda: torch.where(i, a, a),
        lambda: F.softmax(i, 0), lambda: F.softmax(i, 1), lambda: F.log_softmax(i, 1), lambda: F.softmax(i.bool(), -1),
        lambda: F.softmax(i, 1, dtype=torch.float).dtype, lambda: i.std(), lambda: i.var(0), lambda: torch.cat([a, b]).dtype,
        lambda: (a + b).dtype, lambda: torch.lerp(a, b, 0.5),
    ],
}
for name, calls in CALLS.items():
    print("--", name)
    for call in calls:
        attempt(call)
