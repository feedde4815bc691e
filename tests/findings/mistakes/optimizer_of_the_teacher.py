import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
student = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 4))
opt = torch.optim.AdamW(teacher.parameters(), lr=1e-2)  # wrong: AG801
opt = torch.optim.AdamW(student.parameters(), lr=1e-2)  # right
for _ in range(6):
    x = torch.randn(32, 8)
    with torch.no_grad(): wanted = teacher(x)
    loss = F.kl_div(F.log_softmax(student(x), 1), F.softmax(wanted, 1), reduction="batchmean")
    opt.zero_grad(); loss.backward(); opt.step()
