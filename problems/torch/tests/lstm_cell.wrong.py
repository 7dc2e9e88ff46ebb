# Wrong: the new hidden state shows the old cell instead of the new one.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, features):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * features, inputs))
        self.weight_hh = nn.Parameter(torch.randn(4 * features, features))
        self.bias_ih = nn.Parameter(torch.randn(4 * features))
        self.bias_hh = nn.Parameter(torch.randn(4 * features))

    def forward(self, x, hidden, cell):
        gates = F.linear(x, self.weight_ih, self.bias_ih)
        gates = gates + F.linear(hidden, self.weight_hh, self.bias_hh)
        take, forget, new, show = gates.chunk(4, dim=1)
        hidden = torch.sigmoid(show) * torch.tanh(cell)
        return hidden, torch.sigmoid(forget) * cell + torch.sigmoid(take) * torch.tanh(new)
