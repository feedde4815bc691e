"""Pairwise ranking, written functionally with closures and a dict of weights."""

import math
import torch as th

th.manual_seed(3)
SIZES = {"query": 6, "doc": 5, "hidden": 8}
TEMPERATURE, MARGIN = 0.7, 0.2


def weights():
    draw = lambda *shape: (th.randn(*shape) / math.sqrt(shape[0])).requires_grad_()
    return {
        "q": draw(SIZES["query"], SIZES["hidden"]),
        "d": draw(SIZES["doc"], SIZES["hidden"]),
        "bias": th.zeros(SIZES["hidden"], requires_grad=True),
    }


def encoder(w, key):
    def encode(rows):
        out = rows @ w[key] + w["bias"]
        out = th.nn.functional.softplus(out, beta=1.5)
        return th.nn.functional.normalize(out, p=2.0, dim=-1)

    return encode


def hinge(good, bad):
    return (MARGIN - good + bad).clamp(min=0.0)


def run(turns=3):
    w = weights()
    ask, tell = encoder(w, "q"), encoder(w, "d")
    adam = th.optim.Adam(w.values(), lr=3e-3)
    for turn in range(turns):
        queries = th.randn(4, SIZES["query"])
        docs = th.randn(2, 4, SIZES["doc"])
        clicks = th.tensor([1.0, 0.5, 1.0, 0.25])
        scores = th.einsum("bh,kbh->kb", ask(queries), tell(docs)) / TEMPERATURE
        good, bad = scores.unbind(0)
        listwise = -th.log_softmax(scores, dim=0)[0]
        with th.no_grad():
            trust = th.sigmoid(good - bad).round(decimals=2)
        total = (clicks * trust * hinge(good, bad)).mean() + 0.3 * listwise.mean()
        adam.zero_grad(set_to_none=True)
        total.backward()
        th.nn.utils.clip_grad_norm_(w.values(), 1.0)
        adam.step()
        print(turn, float(total))


run()
