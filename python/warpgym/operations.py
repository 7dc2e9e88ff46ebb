"""What takes part in each operation of PyTorch within a block of code."""

import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class OperationMode(TorchDispatchMode):
    """PyTorch keeps its compiler away from the methods of such a class, and loads it for that at
    the first operation, which takes 1 to 30 s in each process. Here it does so only where something
    else has loaded it: a reference that is compiled."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        plain = cls.__torch_dispatch__
        apart = torch._disable_dynamo(plain)

        def dispatch(self, *arguments, **keywords):
            method = apart if "torch._dynamo" in sys.modules else plain
            return method(self, *arguments, **keywords)

        cls.__torch_dispatch__ = dispatch
