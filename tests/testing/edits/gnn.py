"""Link prediction on a small graph: messages by index_add, in the style of a university's homework."""

from __future__ import annotations

import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F

logger = logging.getLogger(__name__)


def degree(index: torch.Tensor, n: int) -> torch.Tensor:
    return torch.zeros(n).index_add(0, index, torch.ones(index.numel()))


class GCNConv(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super(GCNConv, self).__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x, edge_index):
        row, col = edge_index
        deg = degree(row, x.size(0)).clamp(min=1)
        norm = deg[row].rsqrt() * deg[col].rsqrt()
        x = x @ self.weight
        out = torch.zeros_like(x).index_add(0, row, norm.unsqueeze(-1) * x[col])
        return out + self.bias


class GATConv(nn.Module):
    def __init__(self, channels: int, negative_slope: float = 0.2):
        super(GATConv, self).__init__()
        self.negative_slope = negative_slope
        self.lin = nn.Linear(channels, channels, bias=False)
        self.att = nn.Parameter(torch.randn(2 * channels) * 0.1)

    def forward(self, x, adj):
        h = self.lin(x)
        n = h.size(0)
        pairs = torch.cat([h.repeat_interleave(n, dim=0), h.repeat(n, 1)], dim=1)
        e = F.leaky_relu(pairs @ self.att, self.negative_slope).view(n, n)
        e = torch.where(adj > 0, e, torch.full_like(e, -9e15))
        alpha = F.dropout(F.softmax(e, dim=1), 0.4, training=self.training)
        return F.elu(alpha @ h)


class Model(nn.Module):
    def __init__(self, args):
        super(Model, self).__init__()
        self.emb = nn.Embedding(6, args.hidden, padding_idx=0)
        self.conv1 = GCNConv(args.hidden, args.hidden)
        self.conv2 = GATConv(args.hidden)
        self.bn = nn.BatchNorm1d(args.hidden)

    def encode(self, nodes, edge_index, adj):
        x = self.emb(nodes)
        x = self.conv1(x, edge_index)
        x = F.relu(self.bn(x))
        x = self.conv2(x, adj)
        return F.normalize(x, p=2, dim=1)

    def decode(self, z, edges):
        return (z[edges[0]] * z[edges[1]]).sum(dim=1)


def bpr_loss(pos, neg):
    return -F.logsigmoid(pos - neg).mean()


def train(args, model, optimizer, nodes, edge_index, adj, neg_edges):
    model.train()
    optimizer.zero_grad()
    z = model.encode(nodes, edge_index, adj)
    pos = model.decode(z, edge_index)
    neg = model.decode(z, neg_edges)
    loss = bpr_loss(pos, neg)
    triplet = F.margin_ranking_loss(pos, neg, torch.ones_like(pos), margin=0.3)
    reg = torch.norm(model.emb.weight) ** 2 / len(nodes)
    total = loss + args.alpha * triplet + args.decay * reg
    total.backward()
    optimizer.step()
    return total.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--decay", type=float, default=1e-3)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.manual_seed(0)
    nodes = torch.arange(6)
    edge_index = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    neg_edges = torch.tensor([[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]])
    adj = torch.zeros(6, 6)
    adj[edge_index[0], edge_index[1]] = 1.0
    model = Model(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)
    for epoch in range(2):
        loss = train(args, model, optimizer, nodes, edge_index, adj, neg_edges)
        logger.info("epoch %d loss %.3f", epoch, loss)


if __name__ == "__main__":
    main()
