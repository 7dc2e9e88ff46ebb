# problem: torch/softmax_rows
# catalogue: H25
# expect: passed
# says: Calls a traced function in inference mode: tensors of another kind.
import torch
from torch import nn


def rows(x):
    top = x - x.amax(dim=1, keepdim=True)
    grown = top.exp()
    return grown / grown.sum(dim=1, keepdim=True)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = torch.jit.trace(rows, torch.zeros(2, 3))

    @torch.inference_mode()
    def forward(self, x):
        return self.rows(x)
