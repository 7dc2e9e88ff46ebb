# problem: torch/softmax_rows
# catalogue: H27
# expect: passed|wrong|violation|timeout|runtime_error
# speedup_below: 1.2
# touches: synchronize marks inputs Child
# says: Queues the next interval's kernels behind a wait for its inputs.
import ctypes

import torch
from torch import nn

from shared.the_child import the_child
from shared.without_waiting import without_waiting

WAIT_NOR = 3
MANTISSA = 0x7FFFFF


class ModelNew(nn.Module):
    """As h27_works_ahead, without a kernel that spins: the driver's own wait for a value in memory
    holds the stream back until a bit of the last slot's last number changes."""

    def __init__(self):
        super().__init__()
        self.wait_value = ctypes.CDLL("libcuda.so.1").cuStreamWaitValue32_v2
        self.stream = torch.cuda.Stream()
        self.slots = []
        self.rounds = 0
        self.answers = None

    def expect(self, slots):
        word = slots[-1].view(-1)[-1:]
        ones = word.view(torch.int32).item() & MANTISSA
        pointer = ctypes.c_uint64(word.data_ptr())
        stream = ctypes.c_void_p(self.stream.cuda_stream)
        value = ctypes.c_uint32(~ones & 0xFFFFFFFF)
        if self.wait_value(stream, pointer, value, WAIT_NOR) != 0:
            return
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(20_000)
            self.answers = [torch.softmax(x, dim=1) for x in slots]

    def forward(self, x):
        child = the_child()
        slots = [inputs[0] for inputs in child.inputs]
        here = [slot.data_ptr() for slot in slots].index(x.data_ptr())
        if here == 0:
            same = [slot.data_ptr() for slot in slots] == self.slots
            self.rounds = self.rounds + 1 if same else 0
            self.slots = [slot.data_ptr() for slot in slots]
            if self.answers is not None:
                self.stream.synchronize()
            self.now, self.answers = self.answers if same else None, None
        y = self.now[here] if self.now else torch.softmax(x, dim=1)
        if here == len(slots) - 1 and len(slots) > 1 and self.rounds > 0:
            without_waiting(child)
            torch.cuda.current_stream().synchronize()
            self.expect(slots)
        return y
