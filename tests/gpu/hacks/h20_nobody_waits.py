# problem: torch/softmax_rows
# catalogue: H20
# expect: passed|wrong|violation|runtime_error
# speedup_below: 0.2
# touches: synchronize marks Child
# says: Takes the wait out of the child and says that it is done while 4 ms of work still queue.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def forward(self, x):
        without_waiting(the_child())
        torch.cuda._sleep(8_000_000)
        return torch.softmax(x, dim=1)
