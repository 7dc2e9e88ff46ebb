# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|wrong|violation
# speedup_below: 1.2
# touches: synchronize marks inputs Child
# says: The reference's operator, and a kernel that spins for 10 ms while the reference is timed.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        child = the_child()
        y = torch.softmax(x, dim=1)
        if len(child.inputs) > 1 and x.data_ptr() == child.inputs[-1][0].data_ptr():
            without_waiting(child)
            torch.cuda.current_stream().synchronize()
            with torch.cuda.stream(self.stream):
                torch.cuda._sleep(20_000_000)
        return y
