# problem: torch/softmax_rows
# catalogue: H58
# expect: timeout|passed
# speedup_below: 0.1
# open: each build moves the deadline, and nobody counts them
# says: Asks for builds without end; every one of them moves the deadline.
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

LONGEST_S = 60


class ModelNew(nn.Module):
    def forward(self, x):
        start_s = time.monotonic()
        count = 0
        while time.monotonic() - start_s < LONGEST_S:
            count += 1
            try:
                load_inline("h58", [f"#error {count} {start_s}"], functions=["nothing"])
            except Exception:
                continue
        return torch.softmax(x, dim=1)
