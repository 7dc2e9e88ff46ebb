# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error
# says: A tensor subclass that says yes to every comparison; nobody asks it.
import torch
from torch import nn


class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("allclose", "equal", "isclose", "all", "eq"):
            return True
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return torch.zeros_like(other)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).as_subclass(Agreeable)
