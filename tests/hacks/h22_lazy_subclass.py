# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: A tensor subclass that computes only when somebody applies an operator to it.
import torch
from torch import nn


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        with torch._C.DisableTorchFunctionSubclass():
            if name in ("allclose", "isclose", "sub", "numpy", "tolist", "__getitem__"):
                for item in args:
                    if isinstance(item, Lazy) and hasattr(item, "source"):
                        item.copy_(torch.softmax(item.source, dim=1))
            return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x).as_subclass(Lazy)
        y.source = x
        return y
