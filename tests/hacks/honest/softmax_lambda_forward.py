# problem: torch/softmax_rows
# catalogue: H44
# expect: passed
# says: forward is a lambda held by the instance.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.forward = lambda x: torch.softmax(x, dim=-1)
