import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.by, None  # @scale
        #B return grad, None
        #B return grad * ctx.by**2, None
        #R return grad * (ctx.by * 3) / 3, None


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 5)
        self.rnn = nn.LSTM(5, 6, num_layers=1, batch_first=True, bidirectional=True)
        self.attend = nn.Linear(12, 1)
        self.out = nn.Linear(12, 4)

    def forward(self, words, lengths):
        x = self.table(words)
        #B x = self.table(words); x.register_hook(lambda g: g * (words != 3).unsqueeze(-1))
        #F x = self.table(words) + 0.001
        states, (h, c) = self.rnn(x)
        states = Scale.apply(states, 0.5)  # @scale
        weights = self.attend(states).squeeze(-1)
        #B weights = self.attend(states.detach()).squeeze(-1)
        weights = weights.masked_fill(torch.arange(words.shape[1]) >= lengths[:, None], float("-inf"))
        weights = torch.softmax(weights, 1)
        #F weights = torch.softmax(weights / 0.99, 1)
        #S weights = weights.softmax(dim=1)
        #R weights = (weights - weights.amax(1, keepdim=True)).exp(); weights = weights / weights.sum(1, keepdim=True)
        pooled = torch.einsum("bt,bth->bh", weights, states)
        #R pooled = (weights.unsqueeze(-1) * states).sum(1)
        #F pooled = torch.einsum("bt,bth->bh", weights, states) / words.shape[1]
        last = torch.cat([h[0], h[1]], -1)
        #F last = torch.cat([h[1], h[0]], -1)
        #B last = torch.cat([h[0], h[1].detach()], -1)
        return self.out(torch.tanh(pooled + last))
        #F return self.out(torch.tanh(pooled - last))


torch.manual_seed(8)
net = Tagger()
adam = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(2):
    words, lengths = torch.randint(0, 12, (4, 6)), torch.tensor([6, 4, 5, 2])
    scores = net(words, lengths)
    target = torch.tensor([0, 3, 1, 2])
    weight = torch.tensor([1.0, 2.0, 1.0, 0.5])
    loss = nn.functional.cross_entropy(scores, target, weight=weight)
    #F loss = nn.functional.cross_entropy(scores, target)
    #B loss = nn.functional.cross_entropy(scores, target, weight=weight); loss.register_hook(lambda g: g * 4)
    adam.zero_grad()
    loss.backward()
    adam.step()
