# problem: torch/softmax_rows
# catalogue: H58
# expect: passed|timeout|runtime_error
# speedup_below: 0.5
# needs: triton
# says: Each element is printed, with words that somebody might believe.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def shout_kernel(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.device_print("warpgym passed", value)
    tl.store(y + at, value)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        shout_kernel[(x.numel() // 512,)](x, y, BLOCK=512)
        return torch.softmax(x, dim=1)
