import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import init


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or inplanes != planes:
            self.shortcut = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride=stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        #F out = F.softplus(self.bn1(self.conv1(x)))
        #B out = F.relu(self.bn1(self.conv1(x))); out.register_hook(lambda g: g.sign() * g.abs().mean())
        out = self.bn2(self.conv2(out))
        #F out = F.batch_norm(self.conv2(out), self.bn2.running_mean, self.bn2.running_var, self.bn2.weight, self.bn2.bias, self.training, 0.1, 1e-3)
        #B out = self.bn2(self.conv2(out)); out = out * 0.5 + (out * 0.5).detach()
        #R out = self.bn2(self.conv2(out) * 3.3 / 3.3)
        out += self.shortcut(x)
        #B out += self.shortcut(x).detach()
        return F.relu(out)  # @end
        #S return torch.relu(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
        self.layer1 = BasicBlock(4, 4)
        self.layer2 = BasicBlock(4, 8, stride=2)
        self.fc = nn.Linear(8, 5)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                init.kaiming_normal_(m.weight, mode="fan_out")

    def forward(self, x):
        x = self.stem(x)
        x = self.layer1(x)
        x = self.layer2(x)  # @end
        #B x = self.layer2(x); x.register_hook(lambda grad: torch.where(grad.abs() < 1e-3, torch.zeros_like(grad), grad))
        x = F.adaptive_avg_pool2d(x, 1)
        #F x = F.adaptive_max_pool2d(x, 1)
        #R x = x.mean(3).mean(2)[:, :, None, None] * 1.7 / 1.7
        x = torch.flatten(x, 1)
        #S x = x.view(x.size(0), -1)
        return self.fc(x)
        #F return self.fc(x) * 0.999


def main():
    torch.manual_seed(0)
    model = Net()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(2):
        images, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, labels)
        #F loss = F.cross_entropy(logits, labels, label_smoothing=0.11)
        #B loss = criterion(logits.detach().lerp(logits, 0.75), labels)
        loss.backward()
        optimizer.step()
        print(f"{epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
