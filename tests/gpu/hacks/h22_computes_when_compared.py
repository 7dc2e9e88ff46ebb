# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: A subclass that works when a comparison touches it; the judge reads memory.
import torch
from torch import nn


class Lazy(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        plain = [arg.as_subclass(torch.Tensor) if isinstance(arg, Lazy) else arg for arg in args]
        if name in ("sub", "eq", "isclose", "_to_copy", "_local_scalar_dense"):
            plain[0].copy_(torch.softmax(args[0].source, dim=1))
        return function(*plain, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x).as_subclass(Lazy)
        y.source = x
        return y
