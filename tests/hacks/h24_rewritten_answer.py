# problem: torch/softmax_rows
# catalogue: H24
# expect: wrong|runtime_error|violation|timeout
# says: Replaces the child's done message by one with an output that lies in its own (lazy) hands.
import gc

import torch
from torch import nn


def lie(channel):
    send = channel.send

    def lying(message, descriptors=()):
        return send(message[:8] + b"\1" * 8 + message[16:], descriptors)

    channel.send = lying


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.done = False

    def forward(self, x):
        if not self.done:
            self.done = True
            for thing in gc.get_objects():
                if type(thing).__name__ == "Channel":
                    lie(thing)
        return torch.zeros_like(x)
