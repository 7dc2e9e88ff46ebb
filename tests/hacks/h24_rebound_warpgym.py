# problem: torch/softmax_rows
# catalogue: H24
# expect: wrong|runtime_error|violation|timeout|load_error|unsupported
# says: Imports the child's own modules and makes all their functions return true.
import sys

import torch
from torch import nn

for name, module in list(sys.modules.items()):
    if name.split(".")[0] != "warpgym":
        continue
    for attribute, value in list(vars(module).items()):
        if callable(value) and not isinstance(value, type):
            setattr(module, attribute, lambda *_arguments, **_keywords: True)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
