# timm: a ViT and a ResNet without weights, forward and backward
import timm
import torch

for name, size in (("vit_tiny_patch16_224", 224), ("resnet10t", 64)):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10).eval()
    x = torch.randn(1, 3, size, size)
    loss = model(x).pow(2).mean()
    loss.backward()
    print(name, f"{loss.item():.5f}", sum(p.numel() for p in model.parameters()))
