# problem: torch/softmax_rows
# catalogue: H50
# expect: wrong|runtime_error|violation
# says: Sends the child's own done message early, about a tensor that it has not filled yet.
import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for thing in gc.get_objects():
            if type(thing).__name__ == "Child":
                thing.answer(thing.describe([y]), 1)
        return y.copy_(torch.softmax(x, dim=1))
