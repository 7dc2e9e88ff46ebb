# problem: torch/softmax_rows
# catalogue: H16
# expect: runtime_error|wrong
# says: The right numbers in the wrong place.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1).cpu()
