# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error|wrong|violation|timeout
# says: Throws its own context away, with everything in it; what the driver does then is its own affair.
import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        torch.cuda.synchronize()
        ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxReset_v2(torch.cuda.current_device())
        return y
