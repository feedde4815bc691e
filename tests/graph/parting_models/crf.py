import torch
from torch import nn


class CRF(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.start = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.trans = nn.Parameter(torch.empty(tags, tags).uniform_(-0.1, 0.1))

    def score(self, emissions, tags, mask):
        n = torch.arange(tags.size(1))
        total = self.start[tags[0]] + emissions[0, n, tags[0]]
        #B total = self.start.detach()[tags[0]] + emissions[0, n, tags[0]]
        for i in range(1, tags.size(0)):
            step = self.trans[tags[i - 1], tags[i]] + emissions[i, n, tags[i]]
            #F step = self.trans[tags[i], tags[i - 1]] + emissions[i, n, tags[i]]
            #R step = emissions[i, n, tags[i]] * 0.9 / 0.9 + self.trans[tags[i - 1], tags[i]]
            total = total + step * mask[i]
            #F total = total + step
        last = mask.long().sum(0) - 1
        #F last = mask.long().sum(0) - 2
        return total + self.end[tags[last, n]]
        #F return total + self.end[tags[-1]]
        #B return total + self.end[tags[last, n]].detach()

    def partition(self, emissions, mask):
        alpha = self.start + emissions[0]
        #B alpha = self.start + emissions[0].detach()
        for i in range(1, emissions.size(0)):
            inner = alpha.unsqueeze(2) + self.trans + emissions[i].unsqueeze(1)
            #B inner = alpha.unsqueeze(2) + self.trans + emissions[i].unsqueeze(1); inner.register_hook(lambda g: g.round(decimals=2))
            following = torch.logsumexp(inner, 1)
            #F following = torch.logsumexp(inner * 1.001, 1)
            #F following = inner.amax(1)
            #R following = inner.exp().sum(1).log()
            alpha = torch.where(mask[i].bool().unsqueeze(1), following, alpha)
            #B alpha = torch.where(mask[i].bool().unsqueeze(1), following, alpha.detach())
        return torch.logsumexp(alpha + self.end, 1)
        #F return torch.logsumexp(alpha, 1)
        #S return (alpha + self.end).logsumexp(dim=1)


torch.manual_seed(36)
embed = nn.Embedding(12, 8, padding_idx=0)
rnn = nn.GRU(8, 5, bidirectional=True)
proj = nn.Linear(10, 4)
crf = CRF(4)
words = torch.tensor([[3, 4], [1, 7], [9, 2], [5, 0], [8, 0]])
tags = torch.tensor([[0, 1], [2, 3], [1, 1], [0, 0], [3, 0]])
mask = (words != 0).float()
#F mask = (words != 0).float() * 0.999
encoded, _ = rnn(embed(words))
#F encoded, _ = rnn(embed(words) * 1.01)
#B encoded, _ = rnn(embed(words).detach())
emissions = proj(encoded)
#F emissions = proj(encoded) - 0.001 * encoded[..., :4]
#B emissions = proj(encoded); emissions.register_hook(lambda g: g - g.mean(0))
nll = (crf.partition(emissions, mask) - crf.score(emissions, tags, mask)).mean()
#F nll = (crf.partition(emissions, mask) - crf.score(emissions, tags, mask)).sum()
nll.backward()
