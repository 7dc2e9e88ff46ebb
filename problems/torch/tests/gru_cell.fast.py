# PyTorch's own GRU cell: two matrix products and one pass for all gates.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, features):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(3 * features, inputs))
        self.weight_hh = nn.Parameter(torch.randn(3 * features, features))
        self.bias_ih = nn.Parameter(torch.randn(3 * features))
        self.bias_hh = nn.Parameter(torch.randn(3 * features))

    def forward(self, x, hidden):
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        return torch.gru_cell(x, hidden, *weights)
