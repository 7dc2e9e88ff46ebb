# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error
# says: Raises an error whose words make careless judges try again or return nothing.
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError("could not acquire lock: No such file or directory; CUDA error; retry")
