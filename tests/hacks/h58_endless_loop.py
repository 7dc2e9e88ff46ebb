# problem: torch/softmax_rows
# catalogue: H58
# expect: timeout
# says: Never returns, and refuses to be interrupted.
import signal

from torch import nn

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
    signal.signal(number, signal.SIG_IGN)


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            pass
