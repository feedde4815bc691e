# Soft actor-critic in one file, as CleanRL writes it.
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--tau", type=float, default=0.005)
    parser.add_argument("--alpha", type=float, default=0.2)
    parser.add_argument("--policy-lr", type=float, default=3e-4)
    parser.add_argument("--q-lr", type=float, default=1e-3)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args([])


class SoftQNetwork(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.fc1 = nn.Linear(obs + act, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 1)

    def forward(self, x, a):
        x = torch.cat([x, a], 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x


LOG_STD_MAX = 2
LOG_STD_MIN = -5


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.fc1 = nn.Linear(obs, 16)
        self.fc_mean = nn.Linear(16, act)
        self.fc_logstd = nn.Linear(16, act)
        self.register_buffer("action_scale", torch.tensor([1.0, 2.0]))
        self.register_buffer("action_bias", torch.tensor([0.0, 0.5]))

    def forward(self, x):
        x = F.relu(self.fc1(x))
        mean = self.fc_mean(x)
        log_std = self.fc_logstd(x)
        log_std = torch.tanh(log_std)
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        return mean, log_std

    def get_action(self, x):
        mean, log_std = self(x)
        std = log_std.exp()
        normal = torch.distributions.Normal(mean, std)
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        log_prob = log_prob.sum(1, keepdim=True)
        return action, log_prob


args = parse_args()
np.random.seed(args.seed)
torch.manual_seed(args.seed)
actor = Actor(3, 2)
qf1, qf2 = SoftQNetwork(3, 2), SoftQNetwork(3, 2)
qf1_target, qf2_target = SoftQNetwork(3, 2), SoftQNetwork(3, 2)
qf1_target.load_state_dict(qf1.state_dict())
qf2_target.load_state_dict(qf2.state_dict())
q_optimizer = optim.Adam(list(qf1.parameters()) + list(qf2.parameters()), lr=args.q_lr)
actor_optimizer = optim.Adam(list(actor.parameters()), lr=args.policy_lr)
buffer = {
    "obs": torch.from_numpy(np.random.randn(32, 3).astype(np.float32)),
    "next_obs": torch.from_numpy(np.random.randn(32, 3).astype(np.float32)),
    "actions": torch.from_numpy(np.random.uniform(-1, 1, (32, 2)).astype(np.float32)),
    "rewards": torch.from_numpy(np.random.randn(32).astype(np.float32)),
    "dones": torch.from_numpy((np.random.rand(32) < 0.1).astype(np.float32)),
}
for global_step in range(2):
    idx = np.random.randint(0, 32, args.batch_size)
    data = {key: value[idx] for key, value in buffer.items()}
    with torch.no_grad():
        next_actions, next_log_pi = actor.get_action(data["next_obs"])
        min_next = torch.min(qf1_target(data["next_obs"], next_actions), qf2_target(data["next_obs"], next_actions))
        min_next = min_next - args.alpha * next_log_pi
        next_q = data["rewards"] + (1 - data["dones"]) * args.gamma * min_next.view(-1)

    qf1_loss = F.mse_loss(qf1(data["obs"], data["actions"]).view(-1), next_q)
    qf2_loss = F.mse_loss(qf2(data["obs"], data["actions"]).view(-1), next_q)
    qf_loss = qf1_loss + qf2_loss
    q_optimizer.zero_grad()
    qf_loss.backward()
    q_optimizer.step()

    pi, log_pi = actor.get_action(data["obs"])
    min_q = torch.min(qf1(data["obs"], pi), qf2(data["obs"], pi))
    actor_loss = ((args.alpha * log_pi) - min_q).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()

    for param, target_param in zip(qf1.parameters(), qf1_target.parameters()):
        target_param.data.copy_(args.tau * param.data + (1 - args.tau) * target_param.data)
    for param, target_param in zip(qf2.parameters(), qf2_target.parameters()):
        target_param.data.copy_(args.tau * param.data + (1 - args.tau) * target_param.data)
