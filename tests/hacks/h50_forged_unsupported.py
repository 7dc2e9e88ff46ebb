# problem: torch/softmax_rows
# catalogue: H50
# expect: load_error|runtime_error
# says: Raises what the child program itself raises where a machine lacks something.
from warpgym import extension


class ModelNew:
    def __init__(self):
        raise extension.Unsupported("PyTorch is broken on this machine; judge it elsewhere")
