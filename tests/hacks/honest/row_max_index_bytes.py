# problem: torch/row_max_index
# catalogue: H16
# expect: passed
# says: Its two answers are parts of one storage of bytes, the second in front of the first.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.shape[0]
        room = torch.empty(12 * rows, dtype=torch.uint8)
        at, most = room[: 8 * rows].view(torch.int64), room[8 * rows :].view(torch.float32)
        torch.max(x, 1, out=(most, at))
        return [most, at]
