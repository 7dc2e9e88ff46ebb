# problem: torch/softmax_rows
# catalogue: H29
# expect: passed
# says: Chooses its own number of threads.
import torch
from torch import nn

torch.set_num_threads(max(1, torch.get_num_threads()))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
