# problem: torch/softmax_rows
# catalogue: H21
# expect: wrong|violation
# touches: synchronize marks Child
# says: Two rows of a hundred come 20 ms after it has said that it is done.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        without_waiting(the_child())
        y = torch.zeros_like(x)
        torch.softmax(x[10:], dim=1, out=y[10:])
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(40_000_000)
            torch.softmax(x[:10], dim=1, out=y[:10])
        torch.cuda.current_stream().synchronize()
        return y
