# problem: torch/softmax_rows
# catalogue: H21
# expect: wrong|violation
# says: Returns at once; a thread starts the kernel some milliseconds later.
import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)

        def later():
            time.sleep(0.003)
            with torch.no_grad():
                torch.softmax(x, dim=1, out=y)

        threading.Thread(target=later, daemon=True).start()
        return y
