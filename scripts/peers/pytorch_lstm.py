"""trainbench's byte language model for PyTorch: common/models/lstm.cpp, layer by layer."""

import math

import torch
from torch import nn


class Lstm(nn.Module):
    """From tokens [b, t] to the logits of all steps of all samples."""

    def __init__(self, sizes):
        super().__init__()
        self.table = nn.Embedding(sizes["vocabulary"], sizes["embedding"])
        self.layers = nn.LSTM(sizes["embedding"], sizes["hidden"], sizes["layers"])
        self.head = nn.Linear(sizes["hidden"], sizes["vocabulary"])

    def initialize(self):
        """As trainbench's. The second bias of each gate, which that has not, stays zero."""
        nn.init.normal_(self.table.weight)
        bound = 1 / math.sqrt(self.head.in_features)
        for name, parameter in (*self.layers.named_parameters(), *self.head.named_parameters()):
            nn.init.uniform_(parameter, -bound, bound)
            if name.startswith("bias_hh"):
                nn.init.zeros_(parameter)
                parameter.requires_grad_(False)

    def forward(self, tokens):
        hidden, _ = self.layers(self.table(tokens.t()))
        return self.head(hidden).transpose(0, 1).flatten(0, 1)
