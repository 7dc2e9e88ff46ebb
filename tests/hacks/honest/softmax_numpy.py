# problem: torch/softmax_rows
# catalogue: H44
# expect: passed
# says: Computes with NumPy on the same memory; reported like any library.
import numpy as np
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        values = x.numpy()
        power = np.exp(values - values.max(axis=1, keepdims=True))
        return torch.from_numpy(power / power.sum(axis=1, keepdims=True))
