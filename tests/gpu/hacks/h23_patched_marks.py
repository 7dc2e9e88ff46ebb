# problem: torch/softmax_rows
# catalogue: H23
# expect: passed
# speedup_below: 0.5
# touches: marks Child
# says: Puts other events where the child measures itself; nobody asks a candidate for its own time.
import torch
from torch import nn

from shared.the_child import the_child


class Mark:
    def record(self):
        pass

    def elapsed_time(self, _):
        return 1e-6


class ModelNew(nn.Module):
    def forward(self, x):
        the_child().device.marks = [Mark(), Mark()]
        for _ in range(20):
            y = torch.softmax(x, dim=1)
        return y
