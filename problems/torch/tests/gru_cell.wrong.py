# Wrong: the reset gate does not reach the hidden bias of the new state.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, features):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(3 * features, inputs))
        self.weight_hh = nn.Parameter(torch.randn(3 * features, features))
        self.bias_ih = nn.Parameter(torch.randn(3 * features))
        self.bias_hh = nn.Parameter(torch.randn(3 * features))

    def forward(self, x, hidden):
        from_input = F.linear(x, self.weight_ih, self.bias_ih + self.bias_hh).chunk(3, dim=1)
        from_hidden = F.linear(hidden, self.weight_hh).chunk(3, dim=1)
        reset = torch.sigmoid(from_input[0] + from_hidden[0])
        update = torch.sigmoid(from_input[1] + from_hidden[1])
        new = torch.tanh(from_input[2] + reset * from_hidden[2])
        return torch.lerp(new, hidden, update)
