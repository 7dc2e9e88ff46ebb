# problem: torch/softmax_rows
# catalogue: H20
# expect: passed
# speedup_below: 0.2
# says: A millisecond of work on a stream that nobody joins: the wait is for all streams.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        y = torch.empty_like(x)
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(2_000_000)
            torch.softmax(x, dim=1, out=y)
        return y
