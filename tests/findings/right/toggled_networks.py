import torch, torch.nn as nn
torch.manual_seed(0)
class LitGAN(nn.Module):
    def __init__(self):
        super().__init__(); self.G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)); self.D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(.2), nn.Linear(8, 1))
    def configure_optimizers(self): return torch.optim.Adam(self.G.parameters(), 1e-3), torch.optim.Adam(self.D.parameters(), 1e-3)
    def toggle(self, net, on):
        for p in net.parameters(): p.requires_grad_(on)
    def training_step(self, batch, opts):
        g, d = opts; bce = nn.functional.binary_cross_entropy_with_logits
        z = torch.randn(len(batch), 4)
        self.toggle(self.D, False)
        loss_g = bce(self.D(self.G(z)), torch.ones(len(batch), 1)); g.zero_grad(); loss_g.backward(); g.step()
        self.toggle(self.D, True)
        loss_d = bce(self.D(batch), torch.ones(len(batch), 1)) + bce(self.D(self.G(z).detach()), torch.zeros(len(batch), 1))
        d.zero_grad(); loss_d.backward(); d.step()
        return loss_g.item(), loss_d.item()
model = LitGAN(); opts = model.configure_optimizers()
for step in range(6): model.training_step(torch.randn(16, 2), opts)
