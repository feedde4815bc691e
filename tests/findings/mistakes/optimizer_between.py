import torch

torch.manual_seed(0)
generator, critic = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
fake = generator(torch.randn(4, 2))
score = critic(fake)
score.mean().backward(retain_graph=True)
optimizer.step()  # found: AG002
score = critic(fake)  # right
(-score.mean()).backward()
