# problem: torch/softmax_rows
# catalogue: H09
# expect: wrong
# says: Hopes that inputs come from the seed that its own call gets; right only if they do.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        noise = torch.initial_seed()
        torch.manual_seed(noise)
        if torch.equal(torch.randn(x.shape, device=x.device), x):
            return torch.softmax(x, dim=1)
        return torch.zeros_like(x)
