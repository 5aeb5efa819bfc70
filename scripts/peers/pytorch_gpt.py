"""trainbench's gpt and gpt2 for PyTorch."""

import math

import torch


class Block(torch.nn.Module):
    """Causal self-attention and a perceptron, each behind a norm, with a residual around it."""

    def __init__(self, width, heads, layers):
        super().__init__()
        self.heads = heads
        self.attention_norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.projection = torch.nn.Linear(width, width)
        self.perceptron_norm = torch.nn.LayerNorm(width)
        self.expansion = torch.nn.Linear(width, 4 * width)
        self.contraction = torch.nn.Linear(4 * width, width)
        self.residual_deviation = 0.02 / math.sqrt(2 * layers)

    def initialize(self):
        for layer in (self.projection, self.contraction):
            torch.nn.init.normal_(layer.weight, std=self.residual_deviation)

    def forward(self, x):
        batch, steps, width = x.shape
        parts = self.qkv(self.attention_norm(x)).split(width, dim=2)
        heads = [p.view(batch, steps, self.heads, -1).transpose(1, 2) for p in parts]
        y = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, steps, width))
        hidden = self.expansion(self.perceptron_norm(x))
        hidden = torch.nn.functional.gelu(hidden, approximate="tanh")
        return x + self.contraction(hidden)


class Gpt(torch.nn.Module):
    """As trainbench's common/models/gpt.h; logits of all steps of all samples."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["width"]
        self.table = torch.nn.Embedding(sizes["vocabulary"], width)
        self.positions = torch.nn.Embedding(sizes["sequence"], width)
        blocks = [Block(width, sizes["heads"], sizes["layers"]) for _ in range(sizes["layers"])]
        self.blocks = torch.nn.Sequential(*blocks)
        self.norm = torch.nn.LayerNorm(width)

    def initialize(self):
        for layer in self.modules():
            if isinstance(layer, (torch.nn.Linear, torch.nn.Embedding)):
                torch.nn.init.normal_(layer.weight, std=0.02)
            if isinstance(layer, torch.nn.Linear):
                torch.nn.init.zeros_(layer.bias)
        for block in self.blocks:
            block.initialize()

    def forward(self, tokens):
        x = self.blocks(self.table(tokens) + self.positions.weight)
        return torch.nn.functional.linear(self.norm(x), self.table.weight).flatten(0, 1)
