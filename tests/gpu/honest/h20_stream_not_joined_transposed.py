# problem: torch/softmax_rows
# catalogue: H20
# expect: passed
# says: Never joins its stream, and returns a view that the judge has to copy.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(50):
                answer = torch.softmax(x.t().contiguous(), dim=0).t()
        return answer
