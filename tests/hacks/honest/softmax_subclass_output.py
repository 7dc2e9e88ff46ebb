# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Answers with a subclass of a tensor that only adds a name.
import torch
from torch import nn


class Named(torch.Tensor):
    label = "probabilities"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1).as_subclass(Named)
