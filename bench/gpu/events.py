"""The event benchmark that a careful person writes for PyTorch: the judge's figures against it.

    events.py PROBLEM.py…

Times Model.forward of KernelBench-style modules on the first GPU: several calls between two events,
each on inputs of its own. Every round makes new inputs in an image on the device and copies all of
them from there right before the calls, and then sweeps the L2 cache. The calls are queued then:
how long the first takes to start is no part of the time.

There are as many calls as the judge takes when its budget has room for the longest intervals
(src/judge/measure/timing.c; at 60 ms and more). The rule is repeated here, and nothing
of the judge is used. Prints a line for each module: the median and quartiles of the time of one
call in ms, calls in a round, rounds.
"""

import importlib.util
import math
import pathlib
import statistics
import sys
import time

import torch

DEVICE = "cuda"
SETS = 128
SETS_MS = 4.0  # of calls in a round,
SETS_BYTES = 4e9  # of their inputs
JUNK_BYTES = 200 * 2**20  # to sweep L2 with
FIRST_LOOK = 5  # rounds of one call that say how long one takes
WARM_UP_S = 0.2
ROUNDS = 200
BUDGET_S = 0.8  # of rounds, as soon as there are
ROUNDS_MIN = 12


def load(path):
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors(values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def sets_for(call_ms, input_bytes, outputs):
    wanted = min(math.ceil(SETS_MS / max(call_ms, 1e-6)), SETS_BYTES / max(input_bytes, 1))
    return int(max(1, min(wanted, SETS // max(outputs, 1))))


class Benchmark:
    """One model, and the sets of inputs that it is called on."""

    def __init__(self, module):
        self.module = module
        with torch.device(DEVICE):
            self.model = module.Model(*self._placed(module.get_init_inputs())).to(DEVICE)
        self.marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self.junk = torch.empty(JUNK_BYTES, dtype=torch.uint8, device=DEVICE)
        self.results = None
        self._make_sets(1)
        for _ in range(2):
            self.round()
        call_ms = statistics.median(self.round() for _ in range(FIRST_LOOK))
        outputs = self.results[0]
        count = len(outputs) if isinstance(outputs, (list, tuple)) else 1
        input_bytes = sum(tensor.nbytes for tensor in tensors(self.sets[0]))
        self._make_sets(sets_for(call_ms, input_bytes, count))

    @staticmethod
    def _placed(values):
        return [value.to(DEVICE) if isinstance(value, torch.Tensor) else value for value in values]

    def _inputs(self):
        with torch.device(DEVICE):
            return self._placed(self.module.get_inputs())

    def _make_sets(self, count):
        self.results = None
        self.sets = [self._inputs() for _ in range(count)]
        self.images = [[torch.empty_like(t) for t in tensors(inputs)] for inputs in self.sets]

    def _fill(self):
        for image in self.images:
            for into, made in zip(image, tensors(self._inputs()), strict=True):
                into.copy_(made)
        for image, inputs in zip(self.images, self.sets, strict=True):
            for into, kept in zip(tensors(inputs), image, strict=True):
                into.copy_(kept)
        self.junk.zero_()

    def round(self):
        """Milliseconds of one call."""
        self.results = None
        self._fill()
        self.marks[0].record()
        self.results = [self.model(*inputs) for inputs in self.sets]
        self.marks[1].record()
        torch.cuda.synchronize()
        return self.marks[0].elapsed_time(self.marks[1]) / len(self.sets)

    def measure(self):
        start = time.monotonic()
        while time.monotonic() - start < WARM_UP_S:
            self.round()
        times = []
        start = time.monotonic()
        while len(times) < ROUNDS and (
            len(times) < ROUNDS_MIN or time.monotonic() - start < BUDGET_S
        ):
            times.append(self.round())
        return times


def main():
    if len(sys.argv) < 2:
        sys.exit("say: events.py PROBLEM.py…")
    if not torch.cuda.is_available():
        sys.exit(f"events.py: PyTorch {torch.__version__} sees no GPU here")
    torch.seed()
    with torch.no_grad():
        for path in sys.argv[1:]:
            benchmark = Benchmark(load(path))
            times = benchmark.measure()
            low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
            figures = f"{middle:.6f} {low:.6f} {high:.6f}"
            print(figures, len(benchmark.sets), len(times), flush=True)
            del benchmark
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
