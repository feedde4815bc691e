import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv1d(nn.Conv1d):
    def forward(self, x):
        pad = (self.kernel_size[0] - 1) * self.dilation[0]
        return super().forward(F.pad(x, (pad, 0)))
        #F return super().forward(F.pad(x, (pad, 0), value=0.1))
        #F return super().forward(F.pad(x, (0, pad)))
        #B return super().forward(F.pad(x.detach(), (pad, 0)))


class ResidualBlock(nn.Module):
    def __init__(self, res, skip, dilation):
        super().__init__()
        self.conv = CausalConv1d(res, 2 * res, 2, dilation=dilation)
        self.res_conv, self.skip_conv = nn.Conv1d(res, res, 1), nn.Conv1d(res, skip, 1)

    def forward(self, x):
        f, g = self.conv(x).split(x.size(1), dim=1)
        #F g, f = self.conv(x).split(x.size(1), dim=1)
        #S f, g = torch.split(self.conv(x), x.size(1), 1)
        z = torch.tanh(f) * torch.sigmoid(g)
        #F z = torch.tanh(f) * torch.tanh(g)
        #B z = torch.tanh(f) * torch.sigmoid(g).detach()
        #B z = torch.tanh(f) * torch.sigmoid(g); z.register_hook(lambda grad: grad.half().float() * 1.25)
        #R z = torch.tanh(f) * (0.5 * torch.tanh(0.5 * g) + 0.5)
        return self.res_conv(z) + x, self.skip_conv(z)
        #B return self.res_conv(z.detach()) + x, self.skip_conv(z)


class WaveNet(nn.Module):
    def __init__(self, classes=8, res=6, skip=10, dilations=(1, 2, 4)):
        super().__init__()
        self.embed = nn.Embedding(classes, res)
        self.blocks = nn.ModuleList(ResidualBlock(res, skip, d) for d in dilations)
        self.out1, self.out2 = nn.Conv1d(skip, skip, 1), nn.Conv1d(skip, classes, 1)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        #B x = self.embed(tokens).transpose(1, 2); x.register_hook(lambda grad: grad.flip(-1))
        skips = []
        for block in self.blocks:
            x, s = block(x)
            skips.append(s)
            #B skips.append(s.detach() if block is self.blocks[0] else s)
            #F skips.append(-s if block is self.blocks[0] else s)
        total = torch.stack(skips).sum(0)
        #F total = torch.stack(skips).mean(0)
        #R total = skips[2] + (skips[1] + skips[0])
        y = F.relu(self.out1(F.relu(total)))
        #F y = F.relu(self.out1(F.leaky_relu(total)))
        #B y = F.relu(self.out1(F.relu(total))); y.register_hook(lambda grad: grad.sign() * 1e-3)
        return self.out2(y)


def nll(logits, targets):
    return F.cross_entropy(logits[:, :, :-1], targets[:, 1:])
    #F return F.cross_entropy(logits[:, :, :-1], targets[:, 1:], ignore_index=3)
    #B return F.cross_entropy(logits[:, :, :-1].detach() * 0.1 + logits[:, :, :-1] * 0.9, targets[:, 1:])


torch.manual_seed(99)
model = WaveNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
wave = torch.randint(0, 8, (2, 20))
for it in range(2):
    opt.zero_grad(set_to_none=True)
    nll(model(wave), wave).backward()
    opt.step()
