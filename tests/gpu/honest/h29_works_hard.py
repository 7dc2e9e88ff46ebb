# problem: torch/softmax_rows
# catalogue: H29
# expect: passed
# says: Heats the GPU with work that it pays for itself.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        warm = torch.ones(1024, 1024, device=x.device)
        for _ in range(20):
            warm = warm @ warm / 1024
        return torch.softmax(x, dim=1) * warm[0, 0]
