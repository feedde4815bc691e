import torch, torch.nn as nn
torch.manual_seed(7)
model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 4))
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")
for it in range(4):
    x, y = torch.randn(8, 10), torch.randint(0, 4, (8,))
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    opt.step()  # wrong: AG810
    scaler.step(opt)  # right
    scaler.update()  # right
