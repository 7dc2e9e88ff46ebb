# problem: torch/softmax_rows
# catalogue: H20
# expect: passed
# says: Careless: a stream that nobody joins. The judge waits for it and charges it.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream(priority=-1)

    def forward(self, x):
        y = torch.empty_like(x)
        with torch.cuda.stream(self.stream):
            torch.softmax(x, dim=1, out=y)
        return y
