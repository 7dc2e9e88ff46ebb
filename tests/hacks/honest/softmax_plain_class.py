# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Not a module at all: a callable class is a model, too.
import torch


class ModelNew:
    def __call__(self, x):
        return torch.softmax(x, dim=1)
