"""The level of the reader: what a script wrote is one box, nothing of it is lost, and a page can show it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from autograph_cli.export import READABLE, VIEWS, render
from autograph_cli.export.layout.fitting import FLATTEST, HIGH, SMALLEST, STEEPEST, WHOLE, WIDE
from autograph_cli.graph import Graph, Trace, forward
from autograph_cli.graph.reader_level import as_written
from autograph_cli.record.run.runner import Target, record
from tests.export.measured_svg import Svg
from tests.export.pages import ROOT

SCRIPTS = {
    "listed": """
        blocks = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)]
        h = torch.ones(2, 4)
        for block in blocks:
            h = block(h)
        loss = h.sum()
    """,
    "layers": """
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
        loss = F.cross_entropy(net(torch.randn(5, 4)), torch.randint(0, 3, (5,)), reduction="sum")
    """,
    "functions": """
        w = torch.randn(3, 4, requires_grad=True)
        y = F.linear(torch.randn(2, 5, 4), w)
        z = [F.softmax(F.linear(part, w.T), dim=1) for part in y]
        loss = (z[0] * z[1])[:, 0, None].sum()
    """,
    "attention": """
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        loss = nn.TransformerEncoder(layer, 6)(torch.randn(2, 3, 8)).view(2, 3, 2, 4).transpose(1, 2).sum()
    """,
    "tied": """
        emb, out = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)
        out.weight = emb.weight
        loss = out(emb(torch.tensor([1, 2]))).logsumexp(1).sum()
    """,
    "loop": """
        cell, head = nn.LSTMCell(3, 4), nn.Linear(4, 1)
        h = c = torch.zeros(2, 4)
        loss = 0.0
        for x in torch.randn(12, 2, 3):
            h, c = cell(x, (h, c))
            loss = loss + head(h).pow(2).mean()
    """,
    "given": """
        bce = nn.BCEWithLogitsLoss()
        net = nn.Linear(3, 1)
        loss = bce(net(torch.randn(4, 3)), torch.ones(4, 1))
    """,
    "dropped": """
        x = torch.randn(2, 4, 6, 6, requires_grad=True)
        y = F.dropout2d(F.dropout(x, 0.1), p=0.2)
        loss = F.cross_entropy(y.flatten(1), torch.tensor([1, 3]), label_smoothing=0.1)
    """,
    "masked": """
        q, k, v = torch.randn(3, 2, 4, 6, requires_grad=True).unbind(0)
        keep = torch.tensor([[True, False, True, True]])
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=keep, dropout_p=0.2)
        loss = F.scaled_dot_product_attention(seen, k, v, is_causal=True).sum()
    """,
    "unnamed": """
        class Loss:
            def backward(self):
                F.l1_loss(nn.Linear(3, 1)(torch.randn(4, 3)), torch.ones(4, 1)).backward()
        loss = Loss()
    """,
    "sparse": """
        words = nn.Embedding(9, 4, sparse=True)
        loss = F.logsigmoid(words(torch.tensor([1, 2])) @ words(torch.tensor([3, 3])).T).sum()
    """,
    "folded": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.shared = nn.Embedding(9, 6), nn.Linear(6, 6)
                self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(6))
                self.head = nn.Linear(6, 9, bias=False)
                self.head.weight = self.embed.weight
            def forward(self, x):
                x = self.embed(x)
                for layer in self.layers:
                    x = x + F.gelu(self.shared(layer(x)))
                return self.head(x)
        net = Net()
        loss = net(torch.tensor([[1, 2]])).logsumexp(2).sum()
    """,
    "experts": """
        gate, experts = nn.Linear(6, 4), nn.ModuleList(nn.Sequential(nn.Linear(6, 9), nn.Tanh()) for _ in range(4))
        x = torch.randn(10, 6)
        weights, chosen = F.softmax(gate(x), dim=1).topk(2, dim=1)
        mask, out = F.one_hot(chosen, 4).permute(2, 1, 0), torch.zeros(10, 9)
        for i, expert in enumerate(experts):
            place, row = torch.where(mask[i])
            out.index_add_(0, row, expert(x[None, row].reshape(-1, 6)) * weights[row, place, None])
        loss = out.pow(2).mean()
    """,
    "beside": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)
                self.convs = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)) for _ in range(5))
            def forward(self, x):
                x = self.first(x)
                for conv in self.convs:
                    x = x + conv(x).relu()
                return self.last(x)
        loss = Net()(torch.randn(3, 4)).sum()
    """,
    "inner": """
        params = [torch.randn(9, 1, requires_grad=True), torch.zeros(9, requires_grad=True)]
        loss = 0.0
        for task in range(4):
            x, y = torch.randn(5, 1), torch.randn(5, 9)
            grads = torch.autograd.grad(F.mse_loss(F.linear(x, *params), y), params, create_graph=True)
            fast = [p - 0.1 * g for p, g in zip(params, grads)]
            loss = loss + F.mse_loss(F.linear(x, *fast), y)
    """,
    "tower": """
        class Block(nn.Module):
            def __init__(self, i, o):
                super().__init__()
                self.conv1, self.conv2 = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
                self.norm1, self.norm2, self.skip = nn.BatchNorm2d(o), nn.BatchNorm2d(o), nn.Conv2d(i, o, 1)
            def forward(self, x):
                y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
                return F.relu(y + self.skip(x))
        layers = [nn.Sequential(Block(i, o), Block(o, o)) for i, o in ((3, 4), (4, 8), (8, 16))]
        net = nn.Sequential(nn.Conv2d(3, 3, 3), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 2))
        loss = F.cross_entropy(net(torch.randn(2, 3, 12, 12)), torch.tensor([0, 1]))
    """,
    "derivative": """
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(6, 2, requires_grad=True)
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        loss = (g[:, :1] - net(x)).pow(2).mean()
    """,
    "messages": """
        class Layer(nn.Module):
            def __init__(self, i, o):
                super().__init__()
                self.lin, self.bias = nn.Linear(i, 2 * o, bias=False), nn.Parameter(torch.zeros(2 * o))
                self.dst, self.src = nn.Parameter(torch.randn(1, 2, o)), nn.Parameter(torch.randn(1, 2, o))
            def forward(self, x, edges):
                x = self.lin(x).view(len(x), 2, -1)
                src, dst = edges
                e = F.leaky_relu((x * self.src).sum(-1)[src] + (x * self.dst).sum(-1)[dst], 0.2)
                e = (e - e.max()).exp()
                alpha = e / torch.zeros(len(x), 2).index_add(0, dst, e)[dst]
                out = torch.zeros_like(x).index_add(0, dst, x[src] * alpha.unsqueeze(-1))
                return out.flatten(1) + self.bias
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = Layer(5, 4), Layer(8, 2)
            def forward(self, x, edges):
                return F.log_softmax(self.two(F.elu(self.one(x, edges)), edges), 1)
        edges, mask = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), torch.tensor([True, True, False, True])
        loss = F.nll_loss(Net()(torch.randn(4, 5), edges)[mask], torch.tensor([0, 1, 2]))
    """,
    "noised": """
        class Res(nn.Module):
            def __init__(self, i, o):
                super().__init__()
                self.into = nn.Sequential(nn.GroupNorm(2, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
                self.emb = nn.Sequential(nn.SiLU(), nn.Linear(8, o))
                self.out = nn.Sequential(nn.GroupNorm(2, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1))
                self.skip = nn.Conv2d(i, o, 1)
            def forward(self, x, emb):
                return self.skip(x) + self.out(self.into(x) + self.emb(emb)[:, :, None, None])
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.time, self.down = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 8)), nn.Conv2d(4, 4, 2, 2)
                self.one, self.two, self.up, self.last = Res(2, 4), Res(4, 8), Res(8, 4), Res(8, 2)
            def forward(self, x, t):
                emb = self.time(t)
                one = self.one(x, emb)
                h = F.interpolate(self.up(self.two(self.down(one), emb), emb), scale_factor=2)
                return self.last(torch.cat([h, one], 1), emb)
        loss = F.mse_loss(Net()(torch.randn(1, 2, 4, 4), torch.randn(1, 4)), torch.randn(1, 2, 4, 4))
    """,
    "timed": """
        class Res(nn.Module):
            def __init__(self, i, o):
                super().__init__()
                self.emb, self.into, self.out = nn.Linear(8, o), nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
            def forward(self, x, t):
                return self.out(F.silu(self.into(x) + self.emb(F.silu(t))[:, :, None, None]))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.time = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 8))
                self.downs = nn.ModuleList(Res(2 * i, 2 * i + 2) for i in (1, 2, 3, 4))
                self.pools = nn.ModuleList(nn.Conv2d(2 * i + 2, 2 * i + 2, 4, 2, 1) for i in (1, 2, 3, 4))
                self.mid, self.last = Res(10, 10), nn.Conv2d(4, 2, 1)
                self.ups = nn.ModuleList(Res(a, b) for a, b in ((20, 8), (16, 6), (12, 4), (8, 4)))
            def forward(self, x, t):
                t, kept = self.time(t), []
                for down, pool in zip(self.downs, self.pools):
                    x = down(x, t)
                    kept.append(x)
                    x = pool(x)
                x = self.mid(x, t)
                for up in self.ups:
                    x = up(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1), t)
                return self.last(x)
        loss = F.mse_loss(Net()(torch.randn(1, 2, 16, 16), torch.randn(1, 4)), torch.randn(1, 2, 16, 16))
    """,
    "adversaries": """
        made = [nn.ConvTranspose2d(8, 4, 4), nn.BatchNorm2d(4), nn.ReLU(True), nn.ConvTranspose2d(4, 1, 4, 2, 1), nn.Tanh()]
        G = nn.Sequential(*made)
        class Critic(nn.Module):
            def __init__(self):
                super().__init__()
                self.main = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(4, 1, 4), nn.Sigmoid())
            def forward(self, x):
                return self.main(x).view(-1, 1).squeeze(1)
        D, bce, label = Critic(), nn.BCELoss(), torch.full((4,), 1.0)
        real = bce(D(torch.randn(4, 1, 8, 8)), label)
        real.backward()
        fake = G(torch.randn(4, 8, 1, 1))
        label.fill_(0.0)
        bce(D(fake.detach()), label).backward()
        label.fill_(1.0)
        loss = bce(D(fake), label)
    """,
    "third": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers, self.act = nn.ModuleList([nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 1)]), nn.Tanh()
            def forward(self, x, t):
                a = torch.cat([x, t], dim=1)
                for layer in self.layers[:-1]:
                    a = self.act(layer(a))
                return self.layers[-1](a)
        def d(y, x):
            return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]
        net, x, t = Net(), torch.rand(6, 1, requires_grad=True), torch.rand(6, 1, requires_grad=True)
        u = net(x, t)
        u_t, u_x = d(u, t), d(u, x)
        loss = ((u_t + 6 * u * u_x + d(d(u_x, x), x)) ** 2).mean()
    """,
    "learned": """
        cell, out = nn.LSTMCell(1, 4), nn.Linear(4, 1)
        theta, state = torch.zeros(6, requires_grad=True), (torch.zeros(6, 4), torch.zeros(6, 4))
        total = 0
        for step in range(4):
            error = ((torch.ones(6, 6) @ theta - 1) ** 2).sum()
            total = total + error
            (g,) = torch.autograd.grad(error, theta, create_graph=True)
            state = cell(g.unsqueeze(1), state)
            theta = theta + out(state[0]).squeeze(1)
        loss = total
    """,
    "parametrized": """
        from torch.nn.utils.parametrizations import spectral_norm
        net = nn.Sequential(spectral_norm(nn.Linear(4, 6)), nn.ReLU(), spectral_norm(nn.Linear(6, 1)))
        loss = F.relu(1 - net(torch.randn(3, 4))).mean()
    """,
    "product": """
        x, v = torch.tensor([1.0, 2.0, 0.5], requires_grad=True), torch.tensor([1.0, 0.0, -1.0])
        f = (x[0] ** 2 * x[1] + torch.exp(x[2] * x[0])).log()
        (grad,) = torch.autograd.grad(f, x, create_graph=True)
        (product,) = torch.autograd.grad((grad * v).sum(), x, create_graph=True)
        loss = product.sum()
    """,
    "decoder": """
        emb, gru, out = nn.Embedding(9, 4), nn.GRU(4, 5, batch_first=True), nn.Linear(5, 9)
        h, given, target, scores = torch.zeros(1, 2, 5), torch.zeros(2, 1).long(), torch.randint(9, (2, 6)), []
        for i in range(6):
            y, h = gru(emb(given), h)
            scores.append(out(y))
            given = target[:, i].unsqueeze(1)
        loss = F.cross_entropy(torch.cat(scores, dim=1).flatten(0, 1), target.flatten())
    """,
    "episode": """
        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.act, self.value = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
            def forward(self, x):
                h = self.body(x).relu()
                return self.act(h).softmax(-1), self.value(h)
        model, losses, returns = Policy(), [], torch.randn(6)
        for reward in returns:
            chance, value = model(torch.randn(4))
            action = torch.distributions.Categorical(chance)
            losses.append(-action.log_prob(action.sample()) * (reward - value.item()) + F.smooth_l1_loss(value, reward[None]))
        loss = torch.stack(losses).sum()
    """,
    "skips": """
        class Conv(nn.Module):
            def __init__(self, i, o):
                super().__init__()
                self.conv = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                                          nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
            def forward(self, x):
                return self.conv(x)
        class Up(nn.Module):
            def __init__(self, i, o):
                super().__init__()
                self.up, self.conv = nn.ConvTranspose2d(i, i // 2, 2, 2), Conv(i, o)
            def forward(self, x, skip):
                return self.conv(torch.cat([skip, F.pad(self.up(x), [0, 0, 0, 0])], dim=1))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inc, self.downs = Conv(3, 4), nn.ModuleList(Conv(w, 2 * w) for w in (4, 8, 16))
                self.ups = nn.ModuleList(Up(2 * w, w) for w in (16, 8, 4))
            def forward(self, x):
                met = [self.inc(x)]
                for down in self.downs:
                    met.append(down(F.max_pool2d(met[-1], 2)))
                x = met.pop()
                for up in self.ups:
                    x = up(x, met.pop())
                return F.interpolate(x, scale_factor=2)
        net = Net()
        loss = net(torch.randn(1, 3, 16, 16)).square().mean()
    """,
    "unrolled": """
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.z, self.r, self.n = nn.Linear(7, 4), nn.Linear(7, 4), nn.Linear(7, 4)
            def forward(self, x, h):
                xh = torch.cat((x, h), 1)
                z, r = torch.sigmoid(self.z(xh)), torch.sigmoid(self.r(xh))
                n = torch.tanh(self.n(torch.cat((x, r * h), 1)))
                return (1 - z) * n + z * h
        cell, head, h, loss = Cell(), nn.Linear(4, 2), torch.zeros(5, 4), 0.0
        for x, y in zip(torch.randn(6, 5, 3), torch.randint(0, 2, (6, 5))):
            h = cell(x, h)
            loss += F.cross_entropy(head(h), y)
    """,
    "rays": """
        def encode(p):
            return torch.cat([p, *(f(2**i * p) for i in range(4) for f in (torch.sin, torch.cos))], -1)
        d, net = torch.randn(6, 3), nn.Linear(27, 4)
        d = d / 2
        loss = net(encode(d[:, None].expand(6, 5, 3))).square().mean()
    """,
    "called": """
        net, slope = nn.Conv2d(1, 4, 3), nn.PReLU()
        x = slope(net(torch.randn(2, 1, 6, 6)))
        a, b = x.chunk(2, dim=1)
        q, k = (part.reshape(2, 2, 16) for part in (a, b))
        pooled = F.adaptive_avg_pool2d(x, 1).flatten(1)
        loss = (q.flip(1) * k.permute(0, 2, 1).contiguous().view(2, 2, 16)).sum() + pooled.repeat(2, 1).sum()
    """,
    "parts": """
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        x = torch.rand(6, 2, requires_grad=True)
        (grad,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        parts = [torch.autograd.grad(grad[:, i], x, torch.ones(6), create_graph=True)[0][:, i] for i in (0, 1)]
        loss = ((parts[0] + parts[1]) ** 2).mean()
    """,
    "dilated": """
        dil = nn.ModuleList([nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(4)])
        res = nn.ModuleList([nn.Conv1d(4, 4, 1) for _ in range(4)])
        x = torch.randn(2, 4, 16)
        for i in range(4):
            a, b = dil[i](F.pad(x, (2**i, 0))).chunk(2, dim=1)
            x = x + res[i](torch.tanh(a) * torch.sigmoid(b))
        loss = x.square().mean()
    """,
    "routing": """
        def squash(s):
            n2 = (s**2).sum(-1, keepdim=True)
            return n2 / (1 + n2) * s / (n2.sqrt() + 1e-8)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.primary = nn.Conv2d(1, 8, 5), nn.Conv2d(8, 16, 3, stride=2)
                self.W = nn.Parameter(0.1 * torch.randn(3, 36, 6, 4))
            def forward(self, x):
                x = F.relu(self.conv(x))
                u = squash(self.primary(x).view(x.size(0), 4, -1).transpose(1, 2)).reshape(x.size(0), 36, 4)
                u_hat = torch.einsum("kioj,bij->bkio", self.W, u)
                b = torch.zeros(x.size(0), 3, 36)
                for r in range(3):
                    c = b.softmax(dim=1)
                    v = squash((c.unsqueeze(-1) * u_hat).sum(2))
                    if r < 2:
                        b = b + (u_hat * v.unsqueeze(2)).sum(-1)
                return v.norm(dim=-1)
        net, y = Net(), torch.eye(3)[torch.tensor([0, 2])]
        norms = net(torch.randn(2, 1, 12, 12))
        loss = (y * F.relu(0.9 - norms) ** 2 + 0.5 * (1 - y) * F.relu(norms - 0.1) ** 2).sum(1).mean()
    """,
}
"""Programs of strangers in short, each for something that went wrong once."""
TELLING = {
    ("messages", "forward"): 25,
    ("timed", "forward"): 30,
    ("noised", "double-backward"): 18,
    ("adversaries", "forward"): 12,
}
TELLING |= {("routing", "forward"): 20, ("routing", "backward"): 15}
TELLING |= {("third", "double-backward"): 24, ("learned", "double-backward"): 15, ("product", "double-backward"): 15}
"""The least boxes of pictures that were folded to next to nothing once."""
SEEN = {
    "layers": (
        ["0: Linear 4→8", "1: BatchNorm1d 8", "2: ReLU", "3: Dropout p=0.5", "4: Linear 8→3", "cross_entropy sum"],
        ["• weight [8, 4] • bias [8]", "◦ running_mean [8]"],
        ["zero_", "bernoulli", "addmm", "nll_loss"],
    ),
    "called": (
        ["chunk 2, dim 1", "reshape 2, 2, 16", "adaptive_avg_pool2d 1", "flatten 1", "contiguous", "slope: PReLU"],
        [],
        ["split dim 1", "reshape_alias stride 64, 16, 1", "mean dim -1, -2, keepdim", "clone", "permute dims 0, 2, 1"],
    ),
    "parts": (["… dgrad[:, 0]/dx", "… dgrad[:, 1]/dx"], [], ["… d(select)/dx"]),
    "dilated": (["dil.0…3: Conv1d 2 d1…8, 4→8", "pad 1…8, 0"], ["× 4", "• 4 × weight [8, 4, 2]"], ["A"]),
    "functions": (["linear", "[:, 0, None]"], [], ["t", "mm", "_unsafe_view"]),
    "attention": ([], ["TransformerEncoderLayer × 6"], ["bmm"]),
    "tied": (
        ["emb: Embedding 9→4", "out: Linear 4→9, no bias"],
        ["• weight ① [9, 4]", "• emb.weight ① [9, 4]"],
        ["mm"],
    ),
    "listed": (["0: Linear 4→4"], ["• 3 × weight [4, 4]", "• 3 × bias [4]"], []),
    "loop": (["cell: LSTMCell 3→4", "add"], ["↻ × 12"], ["unsafe_split", "addmm", "+ 0"]),
    "experts": (["experts.0–3: Sequential × 4", "[row, place, None]"], ["↻ × 4"], ["1: Sequential"]),
    "beside": (
        ["convs.0–4: Sequential × 5", "first: Linear 4→8"],
        ["↻ × 5", "• 5 × weight [8, 8]"],
        ["leaf", "convs.1: Sequential"],
    ),
    "inner": (["linear", "… d(mse_loss)/dparams[0]"], ["↻ × 4"], ["+ 0"]),
    "tower": (["0: Conv2d 3×3, 3→3", "6: Linear 16→2"], ["1: Sequential", "3: Sequential"], ["convolution"]),
    "given": (["net: Linear 3→1", "bce: BCEWithLogitsLoss mean", "ones"], [], []),
    "dropped": (
        ["dropout 0.1", "dropout2d p 0.2", "cross_entropy label_smoothing 0.1", "tensor"],
        [],
        ["bernoulli", "mul"],
    ),
    "masked": (["keep", "scaled_dot_product_attention …"], ["is_causal"], ["input", "tril", "where"]),
    "unnamed": (["l1_loss", "result"], [], ["MeanBackward0"]),
    "sparse": (["words: Embedding 9→4, sparse"], ["• weight ① [9, 4]"], []),
    "folded": (
        ["layers.0…5: Linear 6→6", "shared: Linear 6→6", "head: Linear 6→9, no bias"],
        ["• weight ① [9, 6]", "• 6 × weight [6, 6]", "• weight [6, 6]", "↻ × 6"],
        ["layers.1: Linear 6→6"],
    ),
    "derivative": (["0: Linear 2→8", "… d(sum)/dx"], [], ["addmm"]),
    "decoder": (["gru: GRU 4→5", "[:, 0…4]"], ["↻ × 6", "× 5"], ["gru: GRU 4→5 (call 6)", "A"]),
    "episode": (["body: Linear 4→8", "model: Policy × 6"], ["× 6"], ["model: Policy (call 1)", "A"]),
    "skips": (
        ["inc: Conv", "downs.0: Conv", "conv: Conv", "net: Net (continued)", "interpolate nearest ×2"],
        ["pad 0, 0, 0, 0"],
        ["constant_pad_nd", "A"],
    ),
    "unrolled": (["cell: Cell × 6", "cat dim 1", "add_"], ["↻ × 6", "• weight [4, 7]"], ["cell: Cell (call 1)", "A"]),
    "rays": (["d", "sin", "cos", "cat dim -1"], ["× 4"], ["cat"]),
    "routing": (["softmax dim 1"], ["u_hat * v.unsqueeze(2)"], []),
}
"""Titles that are there, words that are somewhere, and titles that are not."""
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
PROGRAMS = sorted([*(ROOT / "tests" / "programs").glob("*.py"), *(ROOT / "samples").glob("*.py")])
CROSSINGS = 2
"""Arrows that cross in a picture of 30 boxes, at most."""
EVERY = int(os.environ.get("AUTOGRAPH_PICTURES", "9"))
"""The step between the programs of this project that are drawn."""


def recorded(path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.chdir(path.parent)
    return record(Target.of(path.name, ()))[1]


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Trace:
    lines = [line[8:] for line in SCRIPTS[request.param].splitlines()]
    (tmp_path / "script.py").write_text(HEAD + "\n".join(lines) + "\nloss.backward()\n")
    return recorded(tmp_path / "script.py", monkeypatch)


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize(("traced", "seen"), SEEN.items(), indirect=["traced"], ids=list(SEEN))
def test_what_the_script_wrote_is_one_box(traced: Trace, seen: tuple[list[str], list[str], list[str]]) -> None:
    titles, words, absent = seen
    svg = render(traced.steps[-1], max_nodes=READABLE).decode()
    told = texts(svg)
    assert set(titles) <= set(told), told
    assert all(any(word in text for text in told) for word in words)
    assert not set(absent) & set(told)


@pytest.mark.parametrize("traced", ["loop"], indirect=True)
def test_outputs_of_a_layer_do_not_have_the_numbers_of_its_operations(traced: Trace) -> None:
    told = texts(render(traced.steps[-1], level="user").decode())
    assert "#1 [2, 3]" in told  # of the tensor that the loop goes over
    assert not {"#0 [2, 4]", "#1 [2, 4]"} & set(told)


@pytest.mark.parametrize("traced", ["folded"], indirect=True)
def test_a_folded_chain_counts_its_leaves(traced: Trace) -> None:
    told = texts(render(traced.steps[-1], max_nodes=24, depth=9, roll=False).decode())
    chips = [text for text in told if "operations • " in text]
    assert chips and all("• 2 leaves ② ③" in text for text in chips)


@pytest.mark.parametrize("traced", SCRIPTS, indirect=True, ids=list(SCRIPTS))
def test_nothing_is_lost(traced: Trace) -> None:
    view = forward(traced.steps[-1].graph)
    keeps_all(view)


def keeps_all(view: Graph) -> None:
    """Every leaf and input is there, and leads where it led; every operation is one node or a part of one."""
    level = as_written(view)
    level.graph.verify()
    at = level.places
    for node in view:
        if node.id not in at:
            assert node.kind in ("untracked", "input"), "only how a buffer was filled is left out"
            continue
        new = level.graph[at[node.id]]
        if node.kind == "leaf":
            assert (new.kind, new.outputs) == (node.kind, node.outputs)
        if new.kind == "input":
            continue
        leads = {edge.node for edge in new.args}
        assert {at[edge.node] for edge in node.args} <= leads | {new.id}
    assert [root.name for root in level.graph.roots] == [root.name for root in view.roots]


@pytest.mark.parametrize("path", PROGRAMS[:: max(1, EVERY)], ids=lambda path: path.stem)
def test_pictures_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = recorded(path, monkeypatch).main_step()
    assert step is not None
    keeps_all(forward(step.graph))
    for view in ("forward", "backward"):
        readable(render(step, view, max_nodes=READABLE).decode())


@pytest.mark.parametrize("traced", SCRIPTS, indirect=True, ids=list(SCRIPTS))
def test_pictures_of_strangers_can_be_read(traced: Trace) -> None:
    for view in ("forward", "backward", "double-backward"):
        readable(render(traced.steps[-1], view, max_nodes=READABLE).decode())


def readable(svg: str) -> None:
    """A picture is no higher than a page where it is as wide, is neither a ribbon nor a tower, and its smallest text can
    be read there; nothing lies on anything else, and few arrows cross."""
    seen = Svg(svg)
    assert seen.text(WIDE) >= SMALLEST
    assert seen.height * min(1.0, WIDE / seen.width) <= HIGH
    assert FLATTEST - 0.03 <= seen.height / seen.width <= STEEPEST + 0.05
    assert seen.covered() == []
    assert seen.crossings() <= CROSSINGS * max(1.0, len(seen.boxes) / WHOLE)


@pytest.mark.parametrize(("traced", "view"), TELLING, indirect=["traced"])
def test_a_folded_picture_tells_as_much_as_there_is_room_for(
    traced: Trace, view: str, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["traced"]
    assert len(Svg(render(traced.steps[-1], view, max_nodes=READABLE).decode()).boxes) >= TELLING[name, view]


@pytest.mark.parametrize("traced", ["learned"], indirect=True)
def test_results_of_turns_stand_beside_what_made_them(traced: Trace) -> None:
    svg = Svg(render(traced.steps[-1], "double-backward", max_nodes=READABLE).decode())
    results = [box.words for box in svg.boxes if "error" in box.words]
    assert results == ["error · error (2) and 2 more"], "no port leads from a result to its maker in another band"


@pytest.mark.parametrize("traced", ["messages", "noised", "tower"], indirect=True)
@pytest.mark.parametrize("view", VIEWS)
def test_other_formats_have_the_boxes_of_the_picture(traced: Trace, view: str) -> None:
    svg, dot, mermaid = (
        render(traced.steps[-1], view, format_, max_nodes=READABLE).decode() for format_ in ("svg", "dot", "mermaid")
    )
    drawn = set(re.findall(r'<g id="([mntr]\w+)" class="(?!arrow)', svg))
    boxes = set(re.findall(r'^\s*"?([mntr]\d\w*)"? \[label=', dot, re.M))
    assert boxes and boxes == set(re.findall(r"^\s*([mntr]\d\w*)[\[({>]", mermaid, re.M))
    assert boxes <= drawn and all(frame.startswith("m") for frame in drawn - boxes)


@pytest.mark.parametrize(("order", "told"), [(None, True), (2, True), (1, False)])
def test_the_note_of_a_made_order_stands_where_this_is_drawn(
    order: int | None, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "x = torch.tensor(2.0, requires_grad=True)\n(g,) = torch.autograd.grad(x**4, x, create_graph=True)\n"
    (tmp_path / "script.py").write_text(f"{HEAD}{lines}g.backward()\n")
    step = recorded(tmp_path / "script.py", monkeypatch).steps[-1]
    notes = [
        text for text in texts(render(step, "double-backward", order=order).decode()) if "made by autograph" in text
    ]
    assert notes == ["order 2 made by autograph from `g` and its leaves"] * told
