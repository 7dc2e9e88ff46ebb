# problem: torch/softmax_rows
# catalogue: H21
# expect: passed|wrong|violation
# speedup_below: 0.9
# touches: synchronize marks Child
# says: Late by less than a GPU's turn for one process: the samples wait, and so does the clock.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def forward(self, x):
        without_waiting(the_child())
        torch.cuda._sleep(400_000)
        return torch.softmax(x, dim=1)
