# problem: torch/softmax_rows
# catalogue: H52
# expect: passed
# says: Its scratch is given back to the system right after the answer, by a finaliser.
import mmap

import torch
from torch import nn


class Scratch:
    def __init__(self, count):
        self.memory = mmap.mmap(-1, 4 * count)
        self.tensor = torch.frombuffer(self.memory, dtype=torch.float32, count=count)

    def __del__(self):
        del self.tensor
        self.memory.close()


class ModelNew(nn.Module):
    def forward(self, x):
        scratch = Scratch(x.numel())
        shifted = scratch.tensor.view(x.shape)
        torch.sub(x, x.amax(1, keepdim=True), out=shifted)
        y = shifted.exp_()
        return y / y.sum(1, keepdim=True)
