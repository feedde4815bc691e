import torch

torch.manual_seed(0)
student, teacher = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for _ in range(5):
    x = torch.randn(4, 3)
    with torch.no_grad():
        target = teacher(x)
    loss = torch.nn.functional.mse_loss(student(x), target)
    teacher.zero_grad()  # wrong
    student.zero_grad()  # right
    loss.backward()  # found: AG404
    optimizer.step()
