"""A one-stage detector: a pyramid, two heads that are shared over its levels, focal loss and GIoU."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 3
ALPHA, GAMMA = 0.25, 2.0


def conv_block(i, o, k=3, s=1, groups=4):
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.GroupNorm(groups, o), nn.ReLU(inplace=True))


class Backbone(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = conv_block(3, width, s=2)
        self.c3, self.c4 = conv_block(width, 2 * width, s=2), conv_block(2 * width, 4 * width, s=2)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x)
        c3 = self.c3(x)
        return [c3, self.c4(c3)]


class FPN(nn.Module):
    def __init__(self, ins, out):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(i, out, 1) for i in ins)
        self.output = nn.ModuleList(nn.Conv2d(out, out, 3, padding=1) for _ in ins)

    def forward(self, feats):
        p4 = self.lateral[1](feats[1])
        up = F.interpolate(p4, scale_factor=2, mode="nearest")
        p3 = self.lateral[0](feats[0]) + up
        return [o(p) for o, p in zip(self.output, (p3, p4))]


class Head(nn.Module):
    def __init__(self, ch, prior=0.01):
        super().__init__()
        self.tower = nn.Sequential(*[conv_block(ch, ch) for _ in range(2)])
        self.cls, self.box = nn.Conv2d(ch, CLASSES, 3, padding=1), nn.Conv2d(ch, 4, 3, padding=1)
        nn.init.constant_(self.cls.bias, -math.log((1 - prior) / prior))
        self.scales = nn.ParameterList([nn.Parameter(torch.tensor(1.0)) for _ in range(2)])

    def forward(self, levels):
        scores, boxes = [], []
        for lvl, p in enumerate(levels):
            t = self.tower(p)
            scores.append(self.cls(t).flatten(2).transpose(1, 2))
            boxes.append(F.relu(self.scales[lvl] * self.box(t)).flatten(2).transpose(1, 2))
        return torch.cat(scores, dim=1), torch.cat(boxes, dim=1)


def sigmoid_focal_loss(logits: Tensor, targets: Tensor) -> Tensor:
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = ce * ((1 - p_t) ** GAMMA)
    alpha_t = ALPHA * targets + (1 - ALPHA) * (1 - targets)
    return (alpha_t * loss).sum()


def giou_loss(pred: Tensor, gt: Tensor, eps: float = 1e-7) -> Tensor:
    area = lambda b: (b[..., 0] + b[..., 2]) * (b[..., 1] + b[..., 3])
    inter_w = torch.min(pred[..., 0], gt[..., 0]) + torch.min(pred[..., 2], gt[..., 2])
    inter_h = torch.min(pred[..., 1], gt[..., 1]) + torch.min(pred[..., 3], gt[..., 3])
    inter = inter_w.clamp(min=0) * inter_h.clamp(min=0)
    union = area(pred) + area(gt) - inter
    iou = inter / (union + eps)
    hull = torch.max(pred, gt)
    hull_area = area(hull)
    giou = iou - (hull_area - union) / (hull_area + eps)
    return 1 - giou


@torch.no_grad()
def assign(n: int):
    """Anchors of a fixed pattern."""
    cls = torch.zeros(2, n, CLASSES)
    fg = torch.zeros(2, n, dtype=torch.bool)
    fg[:, ::3] = True
    cls[:, ::3, 1] = 1.0
    boxes = torch.full((2, n, 4), 2.5)
    return cls, boxes, fg


torch.manual_seed(0)
backbone, fpn, head = Backbone(), FPN([16, 32], 8), Head(8)
params = [p for m in (backbone, fpn, head) for p in m.parameters()]
sgd = torch.optim.SGD(params, lr=0.01, momentum=0.9, weight_decay=1e-4)
images = torch.rand(2, 3, 32, 32)
mean, std = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1), torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
for it in range(2):
    scores, boxes = head(fpn(backbone((images - mean) / std)))
    gt_cls, gt_boxes, fg = assign(scores.shape[1])
    num_pos = fg.sum().clamp(min=1)
    loss_cls = sigmoid_focal_loss(scores, gt_cls) / num_pos
    centerness = torch.sqrt(boxes[fg].detach().amin(-1) / (boxes[fg].detach().amax(-1) + 1e-6))
    loss_box = (giou_loss(boxes[fg], gt_boxes[fg]) * (1 + centerness)).sum() / num_pos
    losses = {"cls": loss_cls, "box": 2.0 * loss_box}
    total = sum(losses.values())
    sgd.zero_grad()
    total.backward()
    sgd.step()
