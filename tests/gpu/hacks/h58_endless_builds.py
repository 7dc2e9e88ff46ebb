# problem: torch/softmax_rows
# catalogue: H58
# expect: passed|timeout
# speedup_below: 1.2
# needs: extension
# alone: yes
# says: Four times as long as a call may take, spent in builds that fail: those move its deadline.
import time

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

LONGEST_S = 20


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.asked = False

    def forward(self, x):
        start_s = time.monotonic()
        while not self.asked and time.monotonic() - start_s < LONGEST_S:
            try:
                load_inline("h58", [f"#error {time.monotonic_ns()}"], functions=["nothing"])
            except Exception:
                continue
        self.asked = True
        return torch.softmax(x, dim=1)
