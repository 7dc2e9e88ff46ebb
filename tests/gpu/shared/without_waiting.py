class Mark:
    def record(self):
        pass

    def elapsed_time(self, _):
        return 0.01


def without_waiting(child):
    """What is left in streams is not waited for at the end of a call."""
    child.device.marks = [Mark(), Mark()]
    child.device.synchronize = lambda: None
