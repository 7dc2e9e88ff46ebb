# problem: torch/softmax_rows
# catalogue: H50
# expect: wrong|violation
# touches: answer describe inputs synchronize marks Child
# says: Sends DONE itself while 10 ms of work are queued, and keeps quiet afterwards.
import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting


class ModelNew(nn.Module):
    def forward(self, x):
        child = the_child()
        without_waiting(child)
        y = torch.zeros_like(x)
        torch.cuda._sleep(20_000_000)
        torch.softmax(x, dim=1, out=y)
        slots = len(child.inputs)
        type(child).answer(child, child.describe([y] * slots), 1)
        child.answer = lambda *_: None
        return y
