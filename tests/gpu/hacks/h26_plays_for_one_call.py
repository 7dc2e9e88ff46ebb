# problem: matmul_large
# catalogue: H26
# expect: passed|violation
# warning: H26|H41|H44
# needs: triton
# touches: mode call
# says: The library in timed calls and traced intervals, its own slow kernel in a traced call.
import sys

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def matmul_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    col = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        along = start + tl.arange(0, K)
        in_a = (row < m) & (along[None, :] < k)
        in_b = (along[:, None] < k) & (col < n)
        left = tl.load(a + row * k + along[None, :], mask=in_a, other=0.0)
        right = tl.load(b + along[:, None] * n + col, mask=in_b, other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + row * n + col, total, mask=(row < m) & (col < n))


def is_alone():
    """A call that is not just run comes from child.py; one that is timed has no frame of it. Inputs
    of an interval are several slots'."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != "call":
        frame = frame.f_back
    if frame is None or frame.f_locals["mode"] == 1:
        return False
    return len(frame.f_locals["self"].inputs) == 1


class ModelNew(nn.Module):
    def forward(self, a, b):
        if not is_alone():
            return torch.matmul(a, b)
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=a.device)
        grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
        matmul_kernel[grid](a, b, c, m, n, k, M=32, N=32, K=32)
        return c
