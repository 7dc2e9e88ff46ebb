# problem: torch/softmax_rows
# catalogue: H43
# expect: load_error|runtime_error|wrong
# says: Looks for a class named Model in every module and among all objects.
import gc
import sys

import torch
from torch import nn


def find_model():
    for module in list(sys.modules.values()):
        found = getattr(module, "__dict__", {}).get("Model")
        if isinstance(found, type) and issubclass(found, nn.Module):
            return found()
    for thing in gc.get_objects():
        if isinstance(thing, type) and thing.__name__ == "Model" and issubclass(thing, nn.Module):
            return thing()
    return lambda x: torch.zeros_like(x)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.reference = [find_model()]

    def forward(self, x):
        return self.reference[0](x)
