# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error
# says: Recurses without end, beyond the interpreter's own limit.
import sys

from torch import nn

sys.setrecursionlimit(10**8)


class ModelNew(nn.Module):
    def forward(self, x):
        return self(x)
