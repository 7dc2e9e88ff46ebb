# problem: torch/softmax_rows
# catalogue: H02
# expect: wrong
# says: Returns an uninitialised tensor of the right shape, hoping for freed memory with the answer.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        candidates = [torch.empty_like(x) for _ in range(4)]
        for tensor in candidates:
            if tensor.abs().sum() > 0:
                return tensor
        return candidates[0]
