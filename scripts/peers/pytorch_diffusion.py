"""trainbench's diffusion model for PyTorch: common/models/diffusion.cpp, layer by layer."""

import math

import torch
from torch import nn
from torch.nn import functional


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, embedding, groups):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(embedding, outputs)
        self.norm2 = nn.GroupNorm(groups, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, embedding):
        y = self.conv1(functional.silu(self.norm1(x)))
        y = y + self.time(embedding)[:, :, None, None]
        return self.conv2(functional.silu(self.norm2(y))) + self.skip(x)


class AttentionBlock(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        rows = self.qkv(self.norm(x)).flatten(2).transpose(1, 2)
        q, k, v = (part[:, None] for part in rows.chunk(3, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v)[:, 0]
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class Diffusion(nn.Module):
    """From images to the noise that was mixed into them less the noise predicted."""

    def __init__(self, sizes):
        super().__init__()
        width, groups = sizes["width"], sizes["groups"]
        channels, embedding = sizes["channels"], 4 * sizes["width"]

        def block(inputs, outputs):
            return ResidualBlock(inputs, outputs, embedding, groups)

        self.time = nn.Sequential(
            nn.Linear(width, embedding), nn.SiLU(), nn.Linear(embedding, embedding), nn.SiLU()
        )
        self.conv_in = nn.Conv2d(channels, width, 3, padding=1)
        self.down, self.halve, self.up = (nn.ModuleList() for _ in range(3))
        above = width
        for own in (width, 2 * width):
            self.down.append(nn.ModuleList([block(above, own), block(own, own)]))
            self.halve.append(nn.Conv2d(own, own, 3, stride=2, padding=1))
            self.up.append(nn.ModuleList([block(3 * own, own), block(own, own)]))
            above = own
        self.middle1 = block(2 * width, 4 * width)
        self.attention = AttentionBlock(4 * width, groups)
        self.middle2 = block(4 * width, 4 * width)
        self.norm_out = nn.GroupNorm(groups, width)
        self.conv_out = nn.Conv2d(width, channels, 3, padding=1)

        steps, half = sizes["steps"], width // 2
        alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, steps, dtype=torch.float64), 0)
        angles = torch.arange(steps)[:, None] * 1e4 ** (-torch.arange(half) / half)
        self.register_buffer("signal", alpha_bar.sqrt())
        self.register_buffer("spread", (1 - alpha_bar).sqrt())
        self.register_buffer("features", torch.cat([angles.sin(), angles.cos()], 1))

    def predict(self, noisy, times):
        embedding = self.time(self.features[times])
        x = self.conv_in(noisy)
        kept = []
        for blocks, halve in zip(self.down, self.halve):
            for block in blocks:
                x = block(x, embedding)
            kept.append(x)
            x = halve(x)
        x = self.middle2(self.attention(self.middle1(x, embedding)), embedding)
        for blocks, skip in zip(reversed(self.up), reversed(kept)):
            x = torch.cat([functional.interpolate(x, scale_factor=2, mode="nearest"), skip], 1)
            for block in blocks:
                x = block(x, embedding)
        return self.conv_out(functional.silu(self.norm_out(x)))

    def forward(self, images):
        times = torch.randint(0, len(self.signal), (len(images),), device=images.device)
        noise = torch.randn_like(images)
        signal, spread = (table[times][:, None, None, None] for table in (self.signal, self.spread))
        return self.predict(signal * images + spread * noise, times) - noise

    @staticmethod
    def loss(difference, _labels):
        return difference.square().mean()
