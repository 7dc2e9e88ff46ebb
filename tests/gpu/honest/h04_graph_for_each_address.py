# problem: torch/softmax_rows
# catalogue: H04
# expect: passed
# says: A graph for each address it is given: it reads what lies there now.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        if x.data_ptr() not in self.graphs:
            torch.softmax(x, dim=1)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = torch.softmax(x, dim=1)
            self.graphs[x.data_ptr()] = graph, x, y
        graph, _, y = self.graphs[x.data_ptr()]
        graph.replay()
        return y
