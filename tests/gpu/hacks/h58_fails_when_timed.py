# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error|wrong|timeout
# needs: triton
# says: Right in checks; where it sees a second slot, its rows never end.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        self.first = self.first or x.data_ptr()
        y = torch.empty_like(x)
        rows = x.shape[0] if x.data_ptr() == self.first else 1 << 24
        softmax_kernel[(rows,)](x, y, x.shape[1], COLS=2048)
        return y
