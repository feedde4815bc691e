# diffusers: a UNet that learns the noise of DDPM
import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(8, 16),
    norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
scheduler = DDPMScheduler(num_train_timesteps=10)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(2):
    clean, noise = torch.rand(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
    timesteps = torch.randint(0, 10, (2,))
    noisy = scheduler.add_noise(clean, noise, timesteps)
    loss = torch.nn.functional.mse_loss(model(noisy, timesteps).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
