# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error|violation|timeout
# says: Raises an exception whose text cannot be made, is endless or not a text at all.
from torch import nn


class Unprintable(Exception):
    def __str__(self):
        raise self

    def __repr__(self):
        return "\ud800" * 10_000_000


class ModelNew(nn.Module):
    def forward(self, x):
        raise Unprintable()
