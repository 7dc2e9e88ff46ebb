# problem: torch/softmax_rows
# catalogue: H20
# expect: passed
# says: Two tasks of PyTorch's inter-op pool, both waited for.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        middle = x.shape[0] // 2
        upper = torch.jit.fork(torch.softmax, x[:middle], 1)
        lower = torch.softmax(x[middle:], dim=1)
        return torch.cat((torch.jit.wait(upper), lower))
