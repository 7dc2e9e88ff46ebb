"""Warm-up kernels of the standby server: compiling each loads a part of Triton into memory."""

import triton
import triton.language as tl


@triton.jit
def rows(out, x, stride, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < count
    value = tl.load(x + row * stride + column, mask=mask, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + column, value / tl.sum(value, axis=0), mask=mask)


@triton.jit
def product(a, b, c, size, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for at in range(tl.cdiv(size, BLOCK)):
        left = a + row[:, None] * size + (at * BLOCK + inner)[None, :]
        right = b + (at * BLOCK + inner)[:, None] * size + column[None, :]
        total = tl.dot(tl.load(left), tl.load(right), total)
    total = tl.where(total > 0, total, tl.sigmoid(total))
    tl.store(c + row[:, None] * size + column[None, :], total.to(tl.float16))


WARM = [
    (
        rows,
        {"out": "*fp32", "x": "*fp32", "stride": "i32", "count": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 1024},
    ),
    (
        product,
        {**dict.fromkeys("abc", "*fp16"), "size": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 64},
    ),
]
