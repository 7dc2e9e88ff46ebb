# problem: torch/softmax_rows
# catalogue: H43
# expect: load_error|compile_error|runtime_error
# says: Inherits from the reference, whose name means nothing in this process.


class ModelNew(Model):  # noqa: F821
    pass
