# problem: torch/gelu_linear
# catalogue: H04
# expect: passed
# says: A graph of the library's product, captured before this process has computed one.
import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x = torch.empty_like(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = functional.gelu(functional.linear(self.x, self.weight, self.bias))
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
