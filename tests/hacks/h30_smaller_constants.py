# problem: torch/softmax_rows
# catalogue: H30
# expect: wrong
# says: Redefines the problem's sizes and inputs, here and wherever it finds them, and solves those.
import sys

import torch
from torch import nn

ROWS = 2
COLS = 3


def get_inputs():
    return [torch.zeros(ROWS, COLS)]


for module in list(sys.modules.values()):
    if "get_inputs" in getattr(module, "__dict__", {}):
        module.ROWS, module.COLS, module.get_inputs = ROWS, COLS, get_inputs


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x[:ROWS, :COLS], dim=1)
