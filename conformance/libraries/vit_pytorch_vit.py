# vit-pytorch: a small ViT, forward and backward
import torch
from vit_pytorch import ViT

torch.manual_seed(0)
v = ViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64, dropout=0.1, emb_dropout=0.1)
preds = v(torch.randn(2, 3, 32, 32))
preds.pow(2).sum().backward()
print(preds.shape, preds.sum(), v.pos_embedding.grad.norm())
