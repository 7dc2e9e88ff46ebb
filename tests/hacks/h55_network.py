# problem: torch/softmax_rows
# catalogue: H55
# expect: wrong|runtime_error|violation
# says: Right only if it can reach any other machine, or a server on this one.
import socket

import torch
from torch import nn


def connects():
    for kind, place in (
        (socket.SOCK_STREAM, ("127.0.0.1", 10907)),
        (socket.SOCK_DGRAM, ("127.0.0.1", 53)),
        (socket.SOCK_DGRAM, ("192.0.2.1", 53)),
    ):
        try:
            with socket.socket(socket.AF_INET, kind) as connection:
                connection.settimeout(0.2)
                connection.connect(place)
            return True
        except OSError:
            continue
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1) if connects() else torch.zeros_like(x)
