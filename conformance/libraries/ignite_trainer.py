# pytorch-ignite: a supervised trainer and evaluator with metrics
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn

torch.manual_seed(0)
data = [(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(5)]
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), criterion)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "nll": Loss(criterion)})


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(data)
    print(engine.state.epoch, evaluator.state.metrics)


trainer.run(data, max_epochs=2)
