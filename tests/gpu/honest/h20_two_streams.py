# problem: torch/softmax_rows
# catalogue: H20
# expect: passed
# says: Two streams that are joined before it returns.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        half = x.shape[0] // 2
        y = torch.empty_like(x)
        main = torch.cuda.current_stream()
        self.stream.wait_stream(main)
        with torch.cuda.stream(self.stream):
            torch.softmax(x[half:], dim=1, out=y[half:])
        torch.softmax(x[:half], dim=1, out=y[:half])
        main.wait_stream(self.stream)
        return y
