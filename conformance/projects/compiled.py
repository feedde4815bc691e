# own: torch.compile with a graph break, whose parts AOTAutograd makes (backend aot_eager)
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


def forward(x):
    h = model(x)
    print("a break")
    return (h * h).mean()


compiled = torch.compile(forward, backend="aot_eager")
for _ in range(2):
    loss = compiled(torch.ones(3, 4))
    loss.backward()
print(loss.item())
