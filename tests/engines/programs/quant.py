import warnings

import torch
import torch.ao.quantization as q
import torch.nn as nn

warnings.simplefilter("ignore")
torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = q.QuantStub()
        self.l = nn.Linear(4, 4)
        self.r = nn.ReLU()
        self.d = q.DeQuantStub()

    def forward(self, x):
        return self.d(self.r(self.l(self.q(x))))


m = M().train()
m.qconfig = q.get_default_qat_qconfig("x86" if "x86" in torch.backends.quantized.supported_engines else "qnnpack")
q.prepare_qat(m, inplace=True)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for _s in range(3):
    loss = m(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item().hex())
k = q.convert(m.eval())
print(k(torch.ones(2, 4)))
dyn = q.quantize_dynamic(nn.Sequential(nn.Linear(4, 4), nn.LSTM(4, 3)), {nn.Linear, nn.LSTM})
print(dyn(torch.ones(2, 1, 4))[0])
