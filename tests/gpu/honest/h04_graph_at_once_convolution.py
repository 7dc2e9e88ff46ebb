# problem: torch/conv2d_bias_relu
# catalogue: H04
# expect: passed
# says: A graph of the library's convolution, captured before this process has computed one.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.empty(out_channels, 1, 1))
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x = torch.empty_like(x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.relu(self.conv(self.x) + self.bias)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
