# problem: torch/softmax_rows
# catalogue: H05
# expect: passed
# says: Its output lies in a mapped file of its scratch, written anew in each call.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.from_file("answer", shared=True, size=x.numel()).view(x.shape)
        return torch.softmax(x, dim=1, out=self.y)
