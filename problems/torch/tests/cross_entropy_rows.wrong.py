# Wrong: the Triton mask is off by one and leaves the last class out of the sum.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def cross_entropy_kernel(
    logits, targets, losses, rows, classes, ROWS: tl.constexpr, CLASSES: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, CLASSES)[None, :]
    present = row < rows
    inside = present[:, None] & (col < classes - 1)
    value = tl.load(logits + row[:, None] * classes + col, mask=inside, other=-1e30)
    largest = tl.max(value, axis=1)
    total = tl.sum(tl.exp(value - largest[:, None]), axis=1)
    target = tl.load(targets + row, mask=present, other=0)
    chosen = tl.load(logits + row * classes + target, mask=present, other=0.0)
    tl.store(losses + row, tl.log(total) + largest - chosen, mask=present)


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        logits = logits.contiguous()
        rows, classes = logits.shape
        losses = torch.empty(rows, dtype=logits.dtype, device=logits.device)
        width = triton.next_power_of_2(classes)
        grid = (triton.cdiv(rows, 32),)
        cross_entropy_kernel[grid](
            logits, targets, losses, rows, classes, ROWS=32, CLASSES=width, num_warps=16
        )
        return losses
