"""The residual networks of pytorch.py: what common/models/resnet.cpp is."""

import torch
from torch import nn


def conv_norm(inputs, outputs, kernel, stride):
    padding = kernel // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs)
    )


class Block(nn.Module):
    """Two 3x3 convolutions, or 1x1, 3x3 and 1x1 to four times the width."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            units = [
                conv_norm(inputs, width, 1, 1),
                conv_norm(width, width, 3, stride),
                conv_norm(width, outputs, 1, 1),
            ]
        else:
            units = [conv_norm(inputs, width, 3, stride), conv_norm(width, outputs, 3, 1)]
        self.units = nn.ModuleList(units)
        changes = inputs != outputs or stride != 1
        self.shortcut = conv_norm(inputs, outputs, 1, stride) if changes else nn.Identity()

    def forward(self, x):
        shortcut = self.shortcut(x)
        for unit in self.units[:-1]:
            x = torch.relu_(unit(x))
        return torch.relu_(self.units[-1](x) + shortcut)


class Resnet(nn.Module):
    def __init__(self, sizes, bottleneck):
        super().__init__()
        width = inputs = sizes["width"]
        self.stem = conv_norm(sizes["channels"], width, *((7, 2) if bottleneck else (3, 1)))
        self.pool = nn.MaxPool2d(3, 2, 1) if bottleneck else nn.Identity()
        blocks = []
        stages = [sizes[name] for name in sorted(sizes) if name.startswith("blocks")]
        for stage, count in enumerate(stages):
            for index in range(count):
                stride = 2 if stage > 0 and index == 0 else 1
                blocks.append(Block(inputs, width, stride, bottleneck))
                inputs = 4 * width if bottleneck else width
            width *= 2
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(inputs, sizes["classes"])

    def forward(self, x):
        x = self.blocks(self.pool(torch.relu_(self.stem(x))))
        return self.classifier(x.mean((2, 3)))
