"""How long this process took, to decide what more it can afford.

A verdict must not depend on the load of the machine: on a CPU, time in which the process was
stopped or waited for a processor is left out. A GPU works while the process waits for it,
so all counts.
"""

import time


def stopwatch(device="cpu"):
    """A function that returns the seconds since this one was called."""
    start, own = time.monotonic(), time.process_time()

    def seconds():
        passed = time.monotonic() - start
        return min(passed, time.process_time() - own) if device == "cpu" else passed

    return seconds
