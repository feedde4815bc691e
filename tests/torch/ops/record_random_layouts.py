"""Records with real PyTorch what is drawn into memory that is laid out otherwise than row by row, into random_layouts.json.

`python -m tests.torch.ops.record_random_layouts` from the repository's root.
"""

from pathlib import Path

from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("random_layouts.json")

LAYOUTS = {
    "contiguous": "torch.zeros(20)",
    "transposed": "torch.zeros(4, 5).t()",
    "small transposed": "torch.zeros(3, 4).t()",
    "large transposed": "torch.zeros(8, 5).t()",
    "permuted": "torch.zeros(2, 3, 4).permute(2, 0, 1)",
    "every second": "torch.zeros(6, 8)[:, ::2]",
    "every second transposed": "torch.zeros(6, 8)[:, ::2].t()",
    "expanded": "torch.zeros(3, 1, 4).transpose(0, 2).expand(4, 2, 3).contiguous()",
    "long and short": "torch.zeros(3, 1, 2).transpose(0, 2)",
    "part": "torch.zeros(5, 6)[1:, 1:]",
    "channels last": "torch.zeros(2, 3, 2, 2).to(memory_format=torch.channels_last)",
}

DRAWS = """
x.normal_(); x.uniform_(); x.exponential_(); x.geometric_(0.3); x.cauchy_(); x.log_normal_(); x.random_(100); x.random_(-5, 20); x.bernoulli_(0.4)
x.bernoulli_(torch.linspace(0, 1, x.numel()).reshape(x.shape)); torch.bernoulli(x + 0.4); x.double().normal_(); x.half().normal_()
torch.view_as_real(torch.zeros(x.shape[::-1], dtype=torch.complex64).permute(*range(x.ndim - 1, -1, -1)).normal_())
F.dropout(x + 1); F.dropout(x.add_(1), inplace=True); F.alpha_dropout(x + 1, 0.4, True); F.rrelu(x - 1, training=True); F.gumbel_softmax(x, dim=0)
torch.rand_like(x); torch.randn_like(x); torch.randint_like(x, 50); torch.poisson(x + 3); torch.randn_like(x[:1].expand_as(x)); torch.rand_like(x[..., :1].expand_as(x)); torch.binomial(x + 5, x + 0.4); torch.normal(x, x + 1); torch.normal(x, 2.0)
torch.nn.init.xavier_uniform_(x[None]); torch.nn.init.kaiming_normal_(x[None]); torch.nn.init.trunc_normal_(x); torch.multinomial(x.flatten(0, -2) + 1, 2) if x.ndim > 1 else x
"""


def cases():
    """Every draw in every layout."""
    draws = [d.strip() for line in DRAWS.strip().splitlines() for d in line.split(";")]
    return [(layout, draw) for layout in LAYOUTS for draw in draws]


def observe(torch, layout, draw):
    """The numbers that are drawn, and the one after them."""
    scope = {"torch": torch, "F": torch.nn.functional}
    scope["x"] = eval(LAYOUTS[layout], scope)
    torch.manual_seed(1)
    drawn = eval(draw, scope)
    return [float(f"{n:.4g}") for n in [*drawn.double().flatten().tolist(), torch.rand(1).item()]]


def main():
    import torch

    written(EXPECTED, {" ".join(case): observe(torch, *case) for case in cases()})


if __name__ == "__main__":
    main()
