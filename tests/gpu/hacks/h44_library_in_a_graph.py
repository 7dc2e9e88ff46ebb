# problem: matmul_large
# catalogue: H44
# expect: passed
# warning: H41|H44
# says: The library's product inside a CUDA graph, where it has no launch of its own.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, a, b):
        if self.graph is None:
            self.a, self.b = a.clone(), b.clone()
            torch.matmul(self.a, self.b)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.c = torch.matmul(self.a, self.b)
        self.a.copy_(a)
        self.b.copy_(b)
        self.graph.replay()
        return self.c.clone()
