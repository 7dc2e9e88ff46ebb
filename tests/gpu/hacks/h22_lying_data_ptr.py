# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: Gives the address of memory that a thread fills later.
import threading
import time

import torch
from torch import nn


class Elsewhere(torch.Tensor):
    def contiguous(self, *_):
        return self

    def data_ptr(self):
        return self.later.data_ptr()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x).as_subclass(Elsewhere)
        y.later = torch.zeros_like(x)

        def work():
            time.sleep(0.002)
            with torch.no_grad():
                torch.softmax(x, dim=1, out=y.later)

        threading.Thread(target=work, daemon=True).start()
        return y
