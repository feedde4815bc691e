import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(*dims):
    layers = []
    for a, b in zip(dims, dims[1:]):
        layers += [nn.Conv1d(a, b, 1, bias=False), nn.BatchNorm1d(b), nn.ReLU()]
    return nn.Sequential(*layers)


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.feat, self.fc = mlp(k, 8, 12), nn.Linear(12, k * k)
        nn.init.normal_(self.fc.weight, std=0.1)

    def forward(self, x):
        m = self.fc(self.feat(x).max(dim=-1)[0]).view(-1, self.k, self.k)
        #F m = self.fc(self.feat(x).mean(dim=-1)).view(-1, self.k, self.k)
        #B m = self.fc(self.feat(x).max(dim=-1)[0].detach()).view(-1, self.k, self.k)
        #B m = self.fc(self.feat(x).max(dim=-1)[0]).view(-1, self.k, self.k); m.register_hook(lambda g: g.transpose(1, 2))
        return m + torch.eye(self.k)
        #F return m * 0.5 + torch.eye(self.k)
        #S return torch.eye(self.k) + m


class PointNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.t, self.local, self.globl = TNet(3), mlp(3, 8), mlp(8, 16)
        self.head = nn.Sequential(nn.Linear(16, 10), nn.SiLU(), nn.Linear(10, classes))

    def forward(self, pts):
        trans = self.t(pts)
        x = torch.bmm(trans, pts)
        #F x = torch.bmm(trans.transpose(1, 2), pts)
        #B x = torch.bmm(trans.detach(), pts)
        #R x = torch.einsum("bij,bjn->bin", trans, pts)
        x = self.local(x)
        #B x = self.local(x); x.register_hook(lambda g: g * 1.003)
        #F x = self.local(x).clamp(max=1.5)
        g = self.globl(x).amax(-1)
        #F g = self.globl(x).logsumexp(-1)
        #B g = self.globl(x).amax(-1); g.register_hook(lambda grad: F.normalize(grad, dim=-1))
        return F.log_softmax(self.head(g), dim=-1), trans
        #F return F.log_softmax(self.head(g) * 2, dim=-1), trans
        #B return F.log_softmax(self.head(g), dim=-1), trans.detach()
        #R return (lambda h: h - h.exp().sum(-1, keepdim=True).log())(self.head(g)), trans


def orthogonality(trans):
    eye = torch.eye(trans.size(1))
    return torch.linalg.matrix_norm(eye - trans @ trans.mT).mean()
    #F return torch.linalg.matrix_norm(eye - trans @ trans.mT).pow(2).mean()
    #B return torch.linalg.matrix_norm(eye - trans @ trans.detach().mT).mean()


torch.manual_seed(314)
net = PointNet()
cloud, label = torch.randn(4, 3, 20), torch.tensor([0, 3, 1, 1])
logp, trans = net(cloud)
loss = F.nll_loss(logp, label) + 1e-3 * orthogonality(trans)
#F loss = F.nll_loss(logp, label) + 1e-2 * orthogonality(trans)
#F loss = F.nll_loss(logp, label, weight=torch.tensor([1.0, 1.0, 1.0, 2.0])) + 1e-3 * orthogonality(trans)
#B loss = F.nll_loss(logp, label) + 1e-3 * orthogonality(trans).detach()
loss.backward()
