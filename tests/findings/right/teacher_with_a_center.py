import copy, torch, torch.nn as nn
torch.manual_seed(0)
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 5))
        self.register_buffer("center", torch.zeros(1, 5))
    def forward(self, x, teacher=False):
        y = self.net(x)
        if not teacher:
            return y / 0.1
        with torch.no_grad():
            self.center = self.center * 0.9 + y.mean(0, keepdim=True) * 0.1
        return (y - self.center) / 0.04
student = Head(); teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.AdamW(student.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(16, 6)
    with torch.no_grad():
        t = teacher(x + 0.1 * torch.randn_like(x), teacher=True).softmax(1)
    loss = -(t * student(x + 0.1 * torch.randn_like(x)).log_softmax(1)).sum(1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), student.parameters()): a.lerp_(b, 0.01)
