# Wrong: works in groups of four and pairs the last, incomplete group with the wrong right sides.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        parts = []
        for start in range(0, a.shape[0], 4):
            left = a[start : start + 4]
            right = b[max(0, min(start, b.shape[0] - 4)) :][: left.shape[0]]
            parts.append(torch.bmm(left, right))
        return torch.cat(parts)
