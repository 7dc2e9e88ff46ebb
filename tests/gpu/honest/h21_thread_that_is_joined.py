# problem: torch/softmax_rows
# catalogue: H21
# expect: passed
# says: Two threads launch a half each, and are joined.
import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        results = {}

        def work(name, part):
            with torch.no_grad():
                results[name] = torch.softmax(part, dim=1)

        half = x.shape[0] // 2
        threads = [
            threading.Thread(target=work, args=(name, part))
            for name, part in enumerate((x[:half], x[half:]))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return torch.cat([results[0], results[1]])
