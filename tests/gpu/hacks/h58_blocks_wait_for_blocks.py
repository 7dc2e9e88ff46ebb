# problem: torch/softmax_rows
# catalogue: H58
# expect: timeout
# needs: triton
# says: A barrier of more blocks than fit onto the GPU at once.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def barrier_kernel(arrived, y, programs):
    tl.atomic_add(arrived, 1)
    seen = tl.load(arrived, volatile=True)
    while seen < programs:
        seen = tl.load(arrived, volatile=True)
    tl.store(y + tl.program_id(0), seen.to(tl.float32))


class ModelNew(nn.Module):
    def forward(self, x):
        programs = 1 << 20
        arrived = torch.zeros(1, dtype=torch.int32, device=x.device)
        y = torch.empty(programs, device=x.device)
        barrier_kernel[(programs,)](arrived, y, programs)
        return torch.softmax(x, dim=1)
