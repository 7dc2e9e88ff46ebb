# Wrong: the Triton loop over k counts whole slices only, so the last 52 of 500 terms are missing.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def matmul_kernel(a, b, c, m, n, k, TILE: tl.constexpr, SLICE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None]
    col = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for i in range(k // SLICE):
        across = i * SLICE + tl.arange(0, SLICE)[None, :]
        down = i * SLICE + tl.arange(0, SLICE)[:, None]
        left = tl.load(a + across * m + row, mask=row < m, other=0.0)
        right = tl.load(b + col * k + down, mask=col < n, other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + row * n + col, total, mask=(row < m) & (col < n))


class ModelNew(nn.Module):
    def forward(self, a, b):
        k, m = a.shape
        n = b.shape[0]
        c = torch.empty(m, n, dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(m, 128), triton.cdiv(n, 128))
        matmul_kernel[grid](a, b, c, m, n, k, TILE=128, SLICE=64, num_warps=8, num_stages=2)
        return c
