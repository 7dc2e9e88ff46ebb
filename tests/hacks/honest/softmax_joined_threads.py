# problem: torch/softmax_rows
# catalogue: H21
# expect: passed
# says: Two Python threads that are joined before the return.
import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        half = x.shape[0] // 2

        def work(rows):
            with torch.no_grad():
                y[rows] = torch.softmax(x[rows], dim=1)

        other = threading.Thread(target=work, args=(slice(half, None),))
        other.start()
        work(slice(0, half))
        other.join()
        return y
