import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(38)
users, items = nn.Embedding(7, 5, sparse=False), nn.Embedding(11, 5)
user_bias, item_bias = nn.Embedding(7, 1), nn.Embedding(11, 1)
bag = nn.EmbeddingBag(9, 5, mode="mean")
cross = nn.Parameter(torch.randn(3, 5) * 0.3)
deep = nn.ModuleDict({"a": nn.Linear(15, 10), "b": nn.Linear(10, 1)})
opt = torch.optim.Adagrad([*users.parameters(), *items.parameters(), *bag.parameters(), *deep.parameters(), cross], lr=0.05)

u, pos, neg = torch.tensor([0, 3, 3, 6]), torch.tensor([1, 10, 2, 2]), torch.tensor([5, 4, 4, 0])
history, offsets = torch.tensor([0, 1, 2, 3, 8, 8, 5]), torch.tensor([0, 2, 3, 6])


def fm(*fields):
    stacked = torch.stack(fields, 1)
    square_of_sum = stacked.sum(1).pow(2)
    #B square_of_sum = stacked.sum(1).pow(2); square_of_sum.register_hook(lambda g: 2 * g)
    sum_of_square = stacked.pow(2).sum(1)
    #F sum_of_square = stacked.pow(2).mean(1)
    #B sum_of_square = stacked.pow(2).sum(1).detach()
    #R sum_of_square = (stacked * stacked).sum(1)
    return 0.5 * (square_of_sum - sum_of_square).sum(-1)
    #F return (square_of_sum - sum_of_square).sum(-1)


def score(u, i):
    a, b, h = users(u), items(i), bag(history, offsets)
    #B a, b, h = users(u), items(i), bag(history, offsets).detach()
    #S a, b, h = users.forward(u), items(i), bag(history, offsets)
    flat = torch.cat([a, b, h], -1)
    hidden = F.relu6(deep["a"](flat))
    #F hidden = F.relu(deep["a"](flat)).clamp(max=0.5)
    #B hidden = F.relu6(deep["a"](flat.detach()))
    wide = deep["b"](F.dropout(hidden, 0.0)).squeeze(-1)
    #R wide = (F.dropout(hidden, 0.0) @ deep["b"].weight.t() + deep["b"].bias).squeeze(-1)
    mixed = (torch.einsum("bd,kd->bk", a * b, cross)).amax(1)
    #F mixed = (torch.einsum("bd,kd->bk", a + b, cross)).amax(1)
    #F mixed = (torch.einsum("bd,kd->bk", a * b, cross)).mean(1)
    #B mixed = (torch.einsum("bd,kd->bk", a * b, cross.detach())).amax(1)
    bias = (user_bias(u) + item_bias(i)).squeeze(-1)
    #F bias = (user_bias(u) - item_bias(i)).squeeze(-1)
    return fm(a, b, h) + wide + mixed + bias  # @score


for batch in range(3):
    s_pos = score(u, pos)  # @score
    #B s_pos = score(u, pos); batch == 1 and s_pos.register_hook(lambda g: g.clamp(min=-0.1))
    s_neg = score(u, neg)
    #B s_neg = score(u, neg).detach()
    margin = s_pos - s_neg
    #F margin = s_pos - s_neg - (0.01 if batch == 2 else 0)
    bpr = -F.logsigmoid(margin).mean()
    #F bpr = -F.logsigmoid(margin * 0.99).mean()
    #F bpr = F.relu(1 - margin).mean()
    #R bpr = F.softplus(-margin).mean()
    l2 = users(u).pow(2).sum() + items(pos).pow(2).sum()
    #F l2 = users(u).pow(2).sum() + items(neg).pow(2).sum()
    #F l2 = users(u).pow(2).sum().sqrt() + items(pos).pow(2).sum()
    #B l2 = users(u).pow(2).sum() + items(pos).detach().pow(2).sum()
    loss = bpr + 1e-2 * l2
    #F loss = bpr + 1.1e-2 * l2
    opt.zero_grad()
    loss.backward()
    opt.step()
