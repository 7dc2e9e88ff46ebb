# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Passes its answer through DLPack, and at an offset into a larger buffer.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.empty(x.numel() + 3)
        out = room[3:].view(x.shape)
        torch.softmax(x, dim=1, out=out)
        return torch.from_dlpack(out)
