# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error|timeout
# needs: triton
# says: The machine's own instruction for giving up.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def trap_kernel(x, y, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    value = tl.inline_asm_elementwise(
        "trap; mov.b32 $0, $1;", "=f,f", [value], dtype=tl.float32, is_pure=False, pack=1
    )
    tl.store(y + tl.arange(0, BLOCK), value)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        trap_kernel[(1,)](x, y, BLOCK=128)
        return y
