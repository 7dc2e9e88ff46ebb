# problem: torch/softmax_rows
# catalogue: H51
# expect: load_error|runtime_error|violation
# says: Leaves with status 0 while it is being imported.
import os

os._exit(0)
