# problem: torch/softmax_rows
# catalogue: H24
# expect: wrong|runtime_error|violation
# says: Replaces built-in functions that a checker would use: abs, max, all, any, sum.
import builtins
import math

import torch
from torch import nn

builtins.all = lambda *_arguments: True
builtins.any = lambda *_arguments: False
builtins.abs = lambda *_arguments: 0
builtins.max = lambda *_arguments, **_keywords: 0
math.isclose = lambda *_arguments, **_keywords: True


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
