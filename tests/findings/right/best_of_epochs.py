import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=12)
ema = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(.9))
best = 1e9
for e in range(4):
    net.train()
    for _ in range(3):
        x, y = torch.randn(12, 6), torch.randint(0, 3, (12,))
        loss = nn.functional.cross_entropy(net(x), y, label_smoothing=.1)
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.); opt.step(); sched.step(); ema.update_parameters(net)
    net.eval()
    with torch.inference_mode():
        val = nn.functional.cross_entropy(net(torch.randn(12, 6)), torch.randint(0, 3, (12,))).item()
    if val < best: best, state = val, {k: v.clone() for k, v in net.state_dict().items()}
net.load_state_dict(state)
