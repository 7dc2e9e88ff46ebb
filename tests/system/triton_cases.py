"""Triton kernels of many kinds, to be compiled for a GPU that need not be there."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(out, x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(out, x, stride, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < count
    value = tl.load(x + row * stride + column, mask=mask, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + column, value / tl.sum(value, axis=0), mask=mask)


@triton.jit
def product(c, a, b, size, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for at in range(tl.cdiv(size, BLOCK)):
        left = tl.load(a + row[:, None] * size + (at * BLOCK + inner)[None, :])
        right = tl.load(b + (at * BLOCK + inner)[:, None] * size + column[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * size + column[None, :], total.to(tl.float16))


@triton.jit
def layer_norm(out, x, weight, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < count
    value = tl.load(x + row * count + column, mask=mask, other=0.0)
    mean = tl.sum(value, axis=0) / count
    centred = tl.where(mask, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / count + 1e-5)
    tl.store(out + row * count + column, centred * scale * tl.load(weight + column, mask=mask))


@triton.jit
def tanh(out, x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, libdevice.tanh(tl.load(x + at)) + libdevice.erf(tl.load(x + at)))


@triton.jit
def histogram(out, x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at), 1)


@triton.jit
def scan(out, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def sort(out, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def dropout(out, x, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(tl.rand(seed, at) > 0.5, tl.load(x + at), 0.0))


@triton.jit
def descriptor(out, x, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([row, column], source.load([row, column]) * 2)


@triton.jit
def _square(value):
    return value * value


@triton.jit
def nested(out, x, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    for _ in range(rounds):
        if tl.max(value, axis=0) < 100.0:
            value = _square(value) + 0.5
    tl.store(out + at, value)


@triton.jit
def assembly(out, x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "shl.b32 $0, $1, 3;", "=r,r", [tl.load(x + at)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


@triton.jit
def bad_assembly(out, x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "no.such.thing $0, $1;", "=r,r", [tl.load(x + at)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


def _case(kernel, types, block, **options):
    names = [name for name in kernel.arg_names if name != "BLOCK"]
    signature = dict(zip(names, types.split(), strict=True)) | {"BLOCK": "constexpr"}
    return kernel, signature, {"BLOCK": block}, options


GOOD = {
    "add": _case(add, "*fp32 *fp32 *fp32 i32", 1024),
    "add_bf16": _case(add, "*bf16 *bf16 *bf16 i64", 512, num_warps=2),
    "add_sm80": _case(add, "*fp32 *fp32 *fp32 i32", 1024, target=80),
    "add_sm100": _case(add, "*fp32 *fp32 *fp32 i32", 1024, target=100),
    "softmax": _case(softmax, "*fp32 *fp32 i32 i32", 2048, num_warps=8),
    "product": _case(product, "*fp16 *fp16 *fp16 i32", 64, num_stages=4),
    "product_ctas": _case(product, "*fp16 *fp16 *fp16 i32", 64, num_ctas=2),
    "layer_norm": _case(layer_norm, "*fp16 *fp16 *fp16 i32", 512),
    "tanh": _case(tanh, "*fp32 *fp32", 256),
    "histogram": _case(histogram, "*i32 *i64", 256),
    "scan": _case(scan, "*fp32 *fp32", 512),
    "sort": _case(sort, "*fp32 *fp32", 128),
    "dropout": _case(dropout, "*fp32 *fp32 i32", 256),
    "descriptor": _case(descriptor, "*fp32 *fp32 i32 i32", 32),
    "nested": _case(nested, "*fp32 *fp32 i32", 256, enable_fp_fusion=False),
    "assembly": _case(assembly, "*i32 *i32", 256, ptx_options="--maxrregcount=64 -O2"),
}
BAD = {
    "bad_assembly": _case(bad_assembly, "*i32 *i32", 256),
    "bad_option": _case(add, "*fp32 *fp32 *fp32 i32", 256, ptx_options="-optf /etc/passwd"),
}
