import torch

torch.manual_seed(0)
encoder, actor, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2), torch.nn.Linear(8, 1)
features = torch.tanh(encoder(torch.randn(5, 4)))
actor_loss = actor(features).log_softmax(1)[:, 0].mean()
critic_loss = critic(features).pow(2).mean()
actor_loss.backward()  # wrong
critic_loss.backward()  # wrong: AG001
(actor_loss + critic_loss).backward()  # right
