"""Triton as candidates write it, for triton_check.py: each check compares with PyTorch."""

import torch
import triton
import triton.language as tl
import triton_cases
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor


def softmax(x):
    y = torch.empty_like(x)
    rows, count = x.shape
    block = triton.next_power_of_2(count)
    triton_cases.softmax[(rows,)](y, x, x.stride(0), count, BLOCK=block, num_warps=16)
    return y


_add = triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=w) for block in (256, 1024) for w in (4, 8)],
    key=["count"],
)(triton_cases.add)


def check_autotune():
    x, y = torch.randn(2, 100_003, device="cuda")
    out = torch.empty_like(x)
    _add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](out, x, y, x.numel())
    torch.testing.assert_close(out, x + y)
    assert _add.best_config is not None


@triton.heuristics({"BLOCK": lambda given: triton.next_power_of_2(given["count"])})
@triton.jit
def _scale(out, x, factor, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) * factor, mask=mask)


def check_heuristics():
    x = torch.randn(1000, device="cuda")
    out = torch.empty_like(x)
    _scale[(1,)](out, x, 2.5, 1000)
    torch.testing.assert_close(out, x * 2.5)


@triton.jit
def _tanh(out, x, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, libdevice.tanh(tl.load(x + at, mask=mask)), mask=mask)


def check_libdevice():
    x = torch.randn(5000, device="cuda")
    out = torch.empty_like(x)
    _tanh[(triton.cdiv(5000, 512),)](out, x, 5000, BLOCK=512)
    torch.testing.assert_close(out, torch.tanh(x))


def check_device_descriptor():
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda")
    )
    x = torch.randn(256, 512, device="cuda")
    out = torch.empty_like(x)
    triton_cases.descriptor[(4, 8)](out, x, 256, 512, BLOCK=64)
    torch.testing.assert_close(out, x * 2)


@triton.jit
def _copy_host(target, source, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    target.store([row, column], source.load([row, column]) * 2)


def check_host_descriptor():
    x = torch.randn(256, 512, device="cuda")
    out = torch.empty_like(x)
    _copy_host[(4, 8)](
        TensorDescriptor.from_tensor(out, [64, 64]),
        TensorDescriptor.from_tensor(x, [64, 64]),
        BLOCK=64,
    )
    torch.testing.assert_close(out, x * 2)


def check_dot():
    a, b = torch.randn(2, 256, 256, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    triton_cases.product[(4, 4)](c, a, b, 256, BLOCK=64)
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


def check_atomics():
    x = torch.randint(0, 16, (4096,), device="cuda")
    out = torch.zeros(16, dtype=torch.int32, device="cuda")
    triton_cases.histogram[(16,)](out, x, BLOCK=256)
    assert torch.equal(out.long(), torch.bincount(x, minlength=16))


def check_do_bench():
    x = torch.randn(1024, 1024, device="cuda")
    assert 0 < triton.testing.do_bench(lambda: softmax(x), warmup=2, rep=10) < 10


@triton.jit
def _assembly(out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "no.such.instruction $0, $1;", "=r,r", [at], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


def check_bad_assembly():
    out = torch.empty(128, dtype=torch.int32, device="cuda")
    try:
        _assembly[(1,)](out, BLOCK=128)
    except triton.runtime.errors.PTXASError as error:
        assert "no.such" in str(error) or "Parsing error" in str(error), error
    else:
        raise AssertionError("bad inline assembly was compiled")


@triton.jit
def _bad_source(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), no_such_name)  # noqa: F821 - that is the point


def check_bad_source():
    out = torch.empty(128, dtype=torch.int32, device="cuda")
    try:
        _bad_source[(1,)](out, BLOCK=128)
    except triton.compiler.errors.CompilationError as error:
        assert "no_such_name" in str(error), error
    else:
        raise AssertionError("an unknown name was compiled")
