# problem: torch/softmax_rows
# catalogue: H04
# expect: wrong|runtime_error
# says: One graph over the first slot's address: right in checks, stale in every other slot.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            torch.softmax(x, dim=1)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.softmax(x, dim=1)
        self.graph.replay()
        return self.y.clone()
