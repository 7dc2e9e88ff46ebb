# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|passed
# speedup_below: 4
# says: A function mode computes only when somebody asks the answer for its address: on the clock.
import torch
from torch import nn
from torch.overrides import TorchFunctionMode


class Late(TorchFunctionMode):
    work = None

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") == "data_ptr" and self.work:
            y, x = self.work
            self.work = None
            y.copy_(torch.softmax(x, dim=1))
        return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = Late()

    def forward(self, x):
        if not self.mode.work:
            self.mode.__enter__()
        y = torch.zeros_like(x)
        self.mode.work = (y, x)
        return y
