# problem: torch/softmax_rows
# catalogue: H51
# expect: runtime_error|violation|load_error
# says: Raises SystemExit(0) in the middle of a call.
import sys

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        sys.exit(0)
