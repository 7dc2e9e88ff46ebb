# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|wrong|violation
# speedup_below: 1.2
# touches: synchronize marks inputs Child
# open: as h29_kernel_left_behind; copy engines do not take turns with kernels
# alone: yes
# says: Half a gigabyte each way over the bus while the reference is timed.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = [torch.cuda.Stream() for _ in range(2)]
        self.here = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        self.there = torch.empty(64 << 20, dtype=torch.uint8, device="cpu", pin_memory=True)

    def forward(self, x):
        child = the_child()
        y = torch.softmax(x, dim=1)
        if len(child.inputs) > 1 and x.data_ptr() == child.inputs[-1][0].data_ptr():
            without_waiting(child)
            torch.cuda.current_stream().synchronize()
            for _ in range(8):
                with torch.cuda.stream(self.streams[0]):
                    self.here.copy_(self.there, non_blocking=True)
                with torch.cuda.stream(self.streams[1]):
                    self.there.copy_(self.here, non_blocking=True)
        return y
