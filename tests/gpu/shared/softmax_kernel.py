import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, cols, COLS: tl.constexpr):
    col = tl.arange(0, COLS)
    inside = col < cols
    value = tl.load(x + tl.program_id(0) * cols + col, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + tl.program_id(0) * cols + col, power / tl.sum(power, axis=0), mask=inside)
