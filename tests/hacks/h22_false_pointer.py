# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: Overrides data_ptr and shape to point the judge somewhere else; it reads what lies there.
import torch
from torch import nn


class Elsewhere(torch.Tensor):
    def data_ptr(self):
        return 0x1000

    def contiguous(self, **_keywords):
        return self


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).as_subclass(Elsewhere)
