# torchmetrics: the functional and the modular accuracy, a collection, a confusion matrix, regression
import torch
import torchmetrics
from torchmetrics import MetricCollection
from torchmetrics.classification import BinaryAUROC, MulticlassConfusionMatrix, MulticlassF1Score
from torchmetrics.regression import MeanSquaredError, R2Score

torch.manual_seed(0)
preds = torch.randn(10, 5).softmax(dim=-1)
target = torch.randint(5, (10,))
print(torchmetrics.functional.accuracy(preds, target, task="multiclass", num_classes=5))
metric = torchmetrics.classification.Accuracy(task="multiclass", num_classes=5)
for _ in range(3):
    preds = torch.randn(10, 5).softmax(dim=-1)
    target = torch.randint(5, (10,))
    print(f"Accuracy on batch: {metric(preds, target)}")
print(f"Accuracy on all data: {metric.compute()}")
print(MulticlassConfusionMatrix(num_classes=5)(preds, target))
both = MetricCollection([MeanSquaredError(), R2Score()])
print(both(torch.tensor([2.5, 0.0, 2.0, 8.0]), torch.tensor([3.0, -0.5, 2.0, 7.0])))
print(MulticlassF1Score(num_classes=5)(preds, target), BinaryAUROC()(torch.rand(20), torch.randint(2, (20,))))
