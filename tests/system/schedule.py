"""Hands out files of tests to the workers of pytest-xdist (--dist loadfile), also after one died.

xdist's own scheduler runs the test that killed its worker again, until no worker is left, and after
a death may wait for ever (pytest-xdist issues 1323, 1327, 1378 and pull request 1371, 3.8.0). This
one takes that test for done, which xdist reports as failed, and hands out what is left of its file.
conftest.py imports the hook.
"""

import pytest

try:
    from xdist.scheduler import LoadFileScheduling
except ImportError:
    LoadFileScheduling = object

__all__ = ["pytest_xdist_make_scheduler"]


class Scheduler(LoadFileScheduling):
    def remove_node(self, node):
        left = {}
        killer = None
        for file, tests in self.assigned_work.pop(node).items():
            pending = [test for test, done in tests.items() if not done]
            if killer is None and pending:
                killer = pending.pop(0)
            if pending:
                left[file] = dict.fromkeys(pending, False)
        self.workqueue.update(left)
        for other in self.assigned_work:
            self._reschedule(other)
        return killer

    def schedule(self):
        again = self.collection is not None
        super().schedule()
        # A worker begins a test when it has the one after it, or knows that there is none.
        for node in self.nodes if again else ():
            self._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Scheduler(config, log) if config.option.dist == "loadfile" else None
