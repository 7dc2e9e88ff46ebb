# problem: torch/softmax_rows
# catalogue: H50
# expect: passed|wrong|violation
# speedup_below: 1.2
# touches: synchronize marks Child
# says: Does not wait for its own kernels: the judge's samples do, on the same clock.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def forward(self, x):
        without_waiting(the_child())
        return torch.softmax(x, dim=1)
