import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_sum(src, index, n):
    out = src.new_zeros(n, *src.shape[1:])
    return out.index_add_(0, index, src)
    #R return (F.one_hot(index, n).t().to(src.dtype) @ (src.flatten(1) * 1.7)).view(n, *src.shape[1:]) / 1.7
    #F return out.index_add_(0, index, src, alpha=1.001 if src.dim() > 2 else 1.0)


def segment_softmax(score, index, n):
    top = torch.full((n, score.size(1)), float("-inf")).scatter_reduce(0, index.unsqueeze(1).expand_as(score), score.detach(), "amax")
    #R top = torch.full((n, score.size(1)), 0.25)
    e = (score - top[index]).exp()
    return e / (scatter_sum(e, index, n)[index] + 1e-16)
    #F return e / (scatter_sum(e, index, n)[index] + 1e-2)
    #B return e / (scatter_sum(e, index, n)[index] + 1e-16).detach()


class GATLayer(nn.Module):
    def __init__(self, n_in, n_out, heads=2, slope=0.2):
        super().__init__()
        self.heads, self.n_out, self.slope = heads, n_out, slope
        self.lin = nn.Linear(n_in, heads * n_out, bias=False)
        self.a_src = nn.Parameter(torch.empty(1, heads, n_out))
        self.a_dst = nn.Parameter(torch.empty(1, heads, n_out))
        nn.init.xavier_uniform_(self.a_src)
        nn.init.xavier_uniform_(self.a_dst)

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.lin(x).view(-1, self.heads, self.n_out)
        #B h = self.lin(x).view(-1, self.heads, self.n_out); h.register_hook(lambda g: g.index_fill(0, torch.tensor([2]), 0.0))
        alpha = (h * self.a_src).sum(-1)[src] + (h * self.a_dst).sum(-1)[dst]
        #F alpha = (h * self.a_src).sum(-1)[dst] + (h * self.a_dst).sum(-1)[src]
        #B alpha = (h.detach() * self.a_src).sum(-1)[src] + (h * self.a_dst).sum(-1)[dst]
        alpha = F.leaky_relu(alpha, self.slope)
        #F alpha = F.leaky_relu(alpha, 0.01)
        #S alpha = F.leaky_relu(alpha, negative_slope=self.slope)
        alpha = segment_softmax(alpha, dst, x.size(0))
        #B alpha = segment_softmax(alpha, dst, x.size(0)).detach()
        msg = h[src] * alpha.unsqueeze(-1)
        out = scatter_sum(msg, dst, x.size(0))
        return out.flatten(1)


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.g1, self.g2 = GATLayer(5, 4), GATLayer(8, 3)

    def forward(self, x, edge_index):
        x = F.elu(self.g1(x, edge_index))
        #F x = F.elu(self.g1(x, edge_index), alpha=0.9)
        #B x = F.elu(self.g1(x, edge_index)); x.requires_grad and x.register_hook(lambda g: g * (g > 0))
        return self.g2(x, edge_index)


torch.manual_seed(5)
edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2, 4, 1], [1, 2, 3, 4, 5, 0, 3, 0, 1, 4]])
loops = torch.arange(6).repeat(2, 1)
edge_index = torch.cat([edges, loops], 1)
x, y = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 4, 5])
train_mask = torch.tensor([True, True, False, True, True, False])
model = GAT()
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
for epoch in range(2):
    model.train()
    opt.zero_grad()
    out = model(x, edge_index)
    loss = F.nll_loss(F.log_softmax(out, dim=-1)[train_mask], y[train_mask])
    #B loss = F.nll_loss(F.log_softmax(out * 0.3 + (out * 0.7).detach(), dim=-1)[train_mask], y[train_mask])
    #S loss = F.nll_loss(out.log_softmax(-1)[train_mask], y[train_mask])
    loss.backward()
    opt.step()
print(round(loss.item(), 5))
