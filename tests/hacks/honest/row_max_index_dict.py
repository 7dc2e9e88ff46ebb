# problem: torch/row_max_index
# catalogue: H16
# expect: passed
# says: Returns its two outputs in a dict, in the reference's order.
import collections

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        most, at = torch.max(x, dim=1)
        return collections.OrderedDict(most=most, at=at)
