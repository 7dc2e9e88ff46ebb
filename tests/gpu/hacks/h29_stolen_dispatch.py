# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|wrong|violation
# speedup_below: 1.2
# touches: synchronize marks inputs Child
# open: a dispatch overhead longer than one measured without a candidate must not be subtracted
# says: Makes the dispatch overhead of the reference long; it is subtracted from the candidate's time.
import time

import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


INTERVAL_S = 0.004


class ModelNew(nn.Module):
    """What the reference waits for a busy GPU before its first mark counts as overhead, and that
    is taken off both children: an interval a little longer than it seems to have taken no time."""

    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        child = the_child()
        first, last = child.inputs[0][0].data_ptr(), child.inputs[-1][0].data_ptr()
        if x.data_ptr() == first:
            self.start_s = time.perf_counter()
        y = torch.softmax(x, dim=1)
        if first != last and x.data_ptr() == last:
            without_waiting(child)
            torch.cuda.current_stream().synchronize()
            with torch.cuda.stream(self.stream):
                torch.cuda._sleep(20_000_000)
            while time.perf_counter() - self.start_s < INTERVAL_S:
                pass
        return y
