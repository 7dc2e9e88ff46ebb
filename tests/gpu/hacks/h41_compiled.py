# problem: torch/softmax_rows
# catalogue: H41
# expect: passed|runtime_error|compile_error|unsupported|timeout
# warning: H41|H44
# says: Lets torch.compile write the kernel: allowed, and not its own.
import torch
from torch import nn


@torch.compile
def softmax(x):
    return torch.exp(x - x.amax(dim=1, keepdim=True)) / torch.exp(
        x - x.amax(dim=1, keepdim=True)
    ).sum(dim=1, keepdim=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return softmax(x)
