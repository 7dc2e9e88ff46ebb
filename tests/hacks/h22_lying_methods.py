# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: A subclass says that it lies where the reference might put its answer, and has its shape.
import torch
from torch import nn


class Liar(torch.Tensor):
    @property
    def shape(self):
        return torch.Size((500, 1537))

    def is_contiguous(self, **_):
        return True

    def numel(self):
        return 500 * 1537

    def contiguous(self, **_):
        return self


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x[:1], dim=1).as_subclass(Liar)
