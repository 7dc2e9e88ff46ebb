# problem: torch/softmax_rows
# catalogue: H04
# expect: passed
# says: Remembers the shape of its last input and allocates anew when it changes; no answer is kept.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.shape, self.scratch = None, None

    def forward(self, x):
        if self.shape != x.shape:
            self.shape, self.scratch = x.shape, torch.empty_like(x)
        torch.sub(x, x.amax(dim=1, keepdim=True), out=self.scratch)
        self.scratch.exp_()
        return self.scratch / self.scratch.sum(dim=1, keepdim=True)
