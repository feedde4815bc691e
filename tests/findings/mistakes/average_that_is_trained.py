import copy

import torch
from torch import nn


class MeanTeacher:
    def __init__(self, student):
        self.student, self.teacher = student, copy.deepcopy(student)
        self.opt = torch.optim.Adam([*student.parameters(), *self.teacher.parameters()], 1e-3)  # wrong: AG809
        self.opt = torch.optim.Adam(student.parameters(), 1e-3)  # right

    def follow(self):
        with torch.no_grad():
            for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
                slow.mul_(0.99).add_(fast, alpha=0.01)

    def train(self, x, y):
        scores = self.student(x + 0.1 * torch.randn_like(x))
        target = self.teacher(x).softmax(1)  # wrong
        target = self.teacher(x).softmax(1).detach()  # right
        loss = nn.functional.cross_entropy(scores, y) + nn.functional.mse_loss(scores.softmax(1), target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.follow()


torch.manual_seed(0)
pair = MeanTeacher(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)))
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
for _ in range(5):
    pair.train(x, y)
