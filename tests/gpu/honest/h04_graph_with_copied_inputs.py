# problem: torch/softmax_rows
# catalogue: H04
# expect: passed
# says: A CUDA graph as the manual has it: copy in, replay, copy out.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x = x.clone()
            torch.softmax(self.x, dim=1)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.softmax(self.x, dim=1)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
