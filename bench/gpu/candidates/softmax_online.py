import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * n
    out += row * n
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < n, other=-float("inf"))
        new = tl.maximum(m, v)
        s = s * tl.exp(m - new) + tl.exp(v - new)
        m = new
    top = tl.max(m, axis=0)
    total = tl.sum(s * tl.exp(m - top), axis=0)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < n, other=0)
        tl.store(out + cols, tl.exp(v - top) / total, mask=cols < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](out, x, x.shape[1], BLOCK=8192, num_warps=16)
        return out
