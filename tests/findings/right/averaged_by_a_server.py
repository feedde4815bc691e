import copy
import torch
from torch import nn

torch.manual_seed(0)
server = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
data = [(torch.randn(12, 4) + k, torch.randn(12, 1)) for k in range(3)]
for rnd in range(4):
    states = []
    for x, y in data:
        client = copy.deepcopy(server)
        opt = torch.optim.SGD(client.parameters(), lr=0.01)
        for _ in range(2):
            opt.zero_grad()
            loss = nn.functional.mse_loss(client(x), y)
            loss.backward()
            opt.step()
        states.append(client.state_dict())
    server.load_state_dict({k: sum(s[k] for s in states) / len(states) for k in states[0]})
    print(rnd, loss.item())
