# ruff: noqa: F821  (names are given by record_sessions.py)
F = nn.functional
LAYERS = [
    nn.Conv2d(4, 6, 3), nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 2, 1), nn.ConvTranspose2d(4, 4, 2), nn.MaxPool2d(2), nn.AvgPool2d(2),
    nn.AdaptiveAvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(2), nn.Upsample(scale_factor=2),
    nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample(scale_factor=2, mode="bicubic"), nn.BatchNorm2d(4), nn.GroupNorm(2, 4),
    nn.InstanceNorm2d(4), nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.ZeroPad2d(1), nn.PixelShuffle(2), nn.PixelUnshuffle(2),
    nn.ChannelShuffle(2), nn.LPPool2d(2, 2), nn.ReLU(), nn.GELU(), nn.PReLU(), nn.Dropout(),
]
torch.manual_seed(0)
plain = torch.randn(2, 4, 6, 6)
for layer in LAYERS:
    torch.manual_seed(1)
    expected = layer(plain)
    torch.manual_seed(1)
    x = plain.detach().to(memory_format=torch.channels_last).requires_grad_()
    y = layer(x)
    print(layer, tuple(y.shape), y.stride(), torch.allclose(y, expected, atol=1e-6), names(y.grad_fn))
    # what an image is flattened into is a view or a copy by how it is laid out
    print("  ", names(y.flatten(2).transpose(1, 2).reshape(2, -1).grad_fn))
    print("  ", names(nn.Linear(y.shape[1], 3)(y.permute(0, 2, 3, 1)).grad_fn))
    y.pow(2).sum().backward()
    plain.requires_grad_().grad = None
    torch.manual_seed(1)
    layer(plain).pow(2).sum().backward()
    print("  ", torch.allclose(x.grad, plain.grad, atol=1e-4))
volume = torch.randn(2, 4, 4, 4, 4).to(memory_format=torch.channels_last_3d).requires_grad_()
for f in (lambda v: F.adaptive_avg_pool3d(v, 1), lambda v: F.conv3d(v, torch.ones(2, 4, 2, 2, 2)), lambda v: F.max_pool3d(v, 2)):
    print(f(volume).stride(), names(f(volume).grad_fn))
