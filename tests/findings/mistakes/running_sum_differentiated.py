# running_loss is accumulated as a tensor and the running sum is what is differentiated (retain_graph to silence the error)
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
mse = nn.MSELoss()
data = [(torch.randn(10, 8), torch.randn(10, 1)) for _ in range(6)]

for epoch in range(2):
    running_loss = 0
    for inputs, targets in data:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = mse(outputs, targets)  # right
        running_loss += mse(outputs, targets)  # wrong
        running_loss.backward(retain_graph=True)  # wrong
        loss.backward()  # right
        running_loss += loss.item()  # right
        optimizer.step()  # wrong: AG002
        optimizer.step()  # right
    print("epoch", epoch, float(running_loss) / len(data))
