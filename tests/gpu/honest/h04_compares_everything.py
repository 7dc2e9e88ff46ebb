# problem: torch/softmax_rows
# catalogue: H04
# expect: passed
# says: A cache whose key is the whole input: right, and it never hits.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = None

    def forward(self, x):
        if self.known is None or not torch.equal(self.known[0], x):
            self.known = (x.clone(), torch.softmax(x, dim=1))
        return self.known[1].clone()
