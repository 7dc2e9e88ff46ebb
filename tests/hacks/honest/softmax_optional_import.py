# problem: torch/softmax_rows
# catalogue: H42
# expect: passed
# says: try and except around an import that nobody promised; both ways are right.
import torch
from torch import nn

try:
    import a_library_that_is_not_here as fast
except ImportError:
    fast = None


class ModelNew(nn.Module):
    def forward(self, x):
        if fast is not None:
            return fast.softmax(x)
        return torch.softmax(x, dim=1)
