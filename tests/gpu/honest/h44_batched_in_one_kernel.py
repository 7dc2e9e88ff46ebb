# problem: torch/batched_matmul
# catalogue: H44
# expect: passed
# needs: triton
# says: One launch for a whole batch: the batch is one call's input.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def batched_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    item = tl.program_id(2)
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    col = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        along = start + tl.arange(0, K)
        in_a = (row < m) & (along[None, :] < k)
        in_b = (along[:, None] < k) & (col < n)
        left = tl.load(a + item * m * k + row * k + along[None, :], mask=in_a, other=0.0)
        right = tl.load(b + item * k * n + along[:, None] * n + col, mask=in_b, other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + item * m * n + row * n + col, total, mask=(row < m) & (col < n))


class ModelNew(nn.Module):
    def forward(self, a, b):
        batch, m, k = a.shape
        n = b.shape[2]
        c = torch.empty(batch, m, n, device=a.device)
        grid = (triton.cdiv(m, 32), triton.cdiv(n, 16), batch)
        batched_kernel[grid](a, b, c, m, n, k, M=32, N=16, K=32)
        return c
