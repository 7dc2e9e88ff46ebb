# problem: torch/softmax_rows
# catalogue: H50
# expect: passed|violation|wrong|runtime_error
# speedup_below: 4
# says: Serves the judge itself from within a call: what it skips of the child's own code is not taken off.
import gc

import torch
from torch import nn

DONE, WAKE, AWAKE, CALL = 8, 14, 15, 7


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        from warpgym import structure, wire

        self.calls += 1
        if self.calls < 20:
            return torch.softmax(x, dim=1)
        child = next(
            thing for thing in gc.get_objects() if type(thing).__name__ == "Child"
        )
        send, receive = child.channel.socket.send, child.channel.socket.recv
        out = torch.empty_like(x)
        shape = (
            out.data_ptr(),
            4 * out.numel(),
            structure.CODES[out.dtype],
            tuple(out.shape),
        )
        done = wire.done([wire.output(*shape)], 0)
        awake = wire.HEAD.pack(AWAKE, 0)
        kind = CALL
        with torch.inference_mode():
            while kind in (CALL, WAKE):
                if kind == CALL:
                    torch.softmax(x, 1, out=out)
                send(done if kind == CALL else awake)
                kind = receive(4096)[0]
        return out
