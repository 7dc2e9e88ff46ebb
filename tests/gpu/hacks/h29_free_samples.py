# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|wrong|violation
# speedup_below: 0.5
# touches: synchronize marks inputs Child
# open: what samples take must be measured where no candidate is
# says: Makes the reference's samples slow, and works on while its own are waited for.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    """Samples of its answer may take as long as those of the reference's, and those take long while
    a kernel of another process has its turns: time in which twenty times the work gets done."""

    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        child = the_child()
        timed = len(child.inputs) > 1
        if timed:
            without_waiting(child)
        for _ in range(20):
            y = torch.softmax(x, dim=1)
        if timed and x.data_ptr() == child.inputs[-1][0].data_ptr():
            with torch.cuda.stream(self.stream):
                torch.cuda._sleep(20_000_000)
        return y
