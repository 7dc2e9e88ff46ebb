# problem: torch/softmax_rows
# catalogue: H23
# expect: passed
# needs: triton
# says: Tunes itself by CUDA events.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    """Measures two settings in its first call and stays with the better one."""

    def __init__(self):
        super().__init__()
        self.warps = None

    def run(self, x, warps):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048, num_warps=warps)
        return y

    def measure(self, x, warps):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.run(x, warps)
        start.record()
        for _ in range(5):
            self.run(x, warps)
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def forward(self, x):
        if self.warps is None:
            self.warps = min((4, 8), key=lambda warps: self.measure(x, warps))
        return self.run(x, self.warps)
