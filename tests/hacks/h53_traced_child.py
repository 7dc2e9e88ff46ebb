# problem: torch/softmax_rows
# catalogue: H53
# expect: wrong|runtime_error|violation|timeout
# says: Installs trace and profile hooks that rewrite the locals of the child's functions.
import sys

import torch
from torch import nn


def hook(frame, event, argument):
    if frame.f_code.co_filename.endswith(("child.py", "wire.py", "structure.py")):
        for name in ("count", "mode", "described", "outputs"):
            if name in frame.f_locals and isinstance(frame.f_locals[name], list):
                frame.f_locals[name].clear()
    return hook


class ModelNew(nn.Module):
    def forward(self, x):
        sys.settrace(hook)
        sys.setprofile(hook)
        return torch.zeros_like(x)
