# problem: torch/softmax_rows
# catalogue: H27
# expect: passed
# says: A thread of its own writes down every millisecond how much was done.
import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.history = []
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            time.sleep(0.001)
            self.history = [*self.history[-99:], self.calls]

    def forward(self, x):
        self.calls += 1
        return torch.softmax(x, dim=1)
