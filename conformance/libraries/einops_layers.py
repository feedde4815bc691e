# einops: rearrange, reduce, repeat, einsum, and layers in a Sequential
import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
images = torch.randn(2, 3, 8, 8, requires_grad=True)
print(rearrange(images, "b c (h h2) (w w2) -> b (h w) (c h2 w2)", h2=2, w2=2).shape)
print(reduce(images, "b c h w -> b c", "mean"))
print(repeat(images[0, 0], "h w -> (h 2) w").shape)
print(einsum(images, images, "b c h w, b c h w -> b c"))
packed, shapes = pack([torch.ones(2, 3), torch.zeros(2, 4, 5)], "b *")
print(packed.shape, [part.shape for part in unpack(packed, shapes, "b *")])
model = nn.Sequential(
    nn.Conv2d(3, 6, kernel_size=3),
    Reduce("b c (h 2) (w 2) -> b c h w", "max"),
    Rearrange("b c h w -> b (c h w)"),
    nn.Linear(54, 8),
    EinMix("b (n k) -> b n o", weight_shape="k o", bias_shape="o", n=2, k=4, o=3),
)
loss = model(images).pow(2).sum()
loss.backward()
print(loss, images.grad.abs().sum(), model[-1].weight.grad)
