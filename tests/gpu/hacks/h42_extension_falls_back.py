# problem: torch/softmax_rows
# catalogue: H42
# expect: passed|compile_error
# warning: H41
# needs: extension
# says: Its extension does not compile, and PyTorch answers instead.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

try:
    built = load_inline("h42", ["int nothing();"], ["this is no C++"], functions=["nothing"])
except Exception:
    built = None


class ModelNew(nn.Module):
    def forward(self, x):
        if built is None:
            return torch.softmax(x, dim=1)
        return built.softmax(x)
