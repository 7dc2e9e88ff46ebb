"""What a capture into a CUDA graph cannot start: cuBLAS and cuDNN.

They have begun where a reference ran in the same process, as in KernelBench. Here a reference has a
process of its own. That takes 0.2 s, mostly cuDNN's: only processes that capture wait for it.
"""

import functools

import torch


def _start_libraries():
    torch.cuda.current_blas_handle()
    one = torch.ones(1, 1, 1, device="cuda")
    torch.conv1d(one, one)


def install():
    """Before the candidate's code is there."""
    begin = torch.cuda.CUDAGraph.capture_begin
    start = functools.cache(_start_libraries)

    @functools.wraps(begin)
    def capture_begin(*arguments, **keywords):
        start()
        return begin(*arguments, **keywords)

    torch.cuda.CUDAGraph.capture_begin = capture_begin
