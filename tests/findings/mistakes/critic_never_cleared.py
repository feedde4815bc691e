import torch
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
compare = nn.BCEWithLogitsLoss()
for _ in range(5):
    fake = generator(torch.randn(10, 3))
    critic.zero_grad()  # right
    compare(critic(torch.randn(10, 2)), torch.ones(10, 1)).backward()
    compare(critic(fake.detach()), torch.zeros(10, 1)).backward()
    of_critic.step()
    generator.zero_grad()
    compare(critic(fake), torch.ones(10, 1)).backward()  # found: AG404
    of_generator.step()
