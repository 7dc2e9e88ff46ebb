"""Calls that are timed (src/judge/child/python_call.h): they run without any Python of ours."""

import contextlib
import ctypes

import torch

from . import structure

_Base = torch._C.TensorBase


def _objects(kind, generators):
    """In the order of enum python_call_object."""
    here = _Base.is_cuda if kind == "cuda" else _Base.is_cpu
    return (
        None,
        torch.Tensor,
        torch.nn.Parameter,
        _Base.shape.__get__,
        _Base.dtype.__get__,
        _Base.data_ptr,
        _Base.is_contiguous,
        _Base.is_neg,
        here.__get__,
        tuple(structure.DTYPES),
        tuple(one.manual_seed for one in generators),
    )


class Calls:
    """One for each process, made before the candidate's module is imported."""

    def __init__(self, library, channel, device):
        native = self.native = ctypes.PyDLL(library._name, handle=library._handle)
        native.python_call_open.argtypes = [ctypes.c_int, ctypes.py_object]
        native.python_call.argtypes = [ctypes.py_object] * 4
        native.python_call.restype = ctypes.py_object
        native.tensor_memory_begin.argtypes = [ctypes.c_bool]
        self.steps = device.steps()
        self.run = native.python_call
        if native.python_call_open(channel, _objects(device.kind, device.generators())) != 0:
            raise RuntimeError("this Python lacks a function of its stable interface")

    def run_ahead(self):
        """The model never waits for the GPU: DONE says how long issuing the calls took."""
        self.native.python_call_runs_ahead()

    def wait(self, model, inputs, plain):
        """Outputs of the call that the judge asked for; None: it wants something else."""
        return self.run(model, inputs, plain, self.steps)

    @contextlib.contextmanager
    def memory(self, poison=False):
        """Tensors that are made meanwhile are a call's (tensor_memory.h)."""
        self.native.tensor_memory_begin(poison)
        try:
            yield
        finally:
            self.native.tensor_memory_end()
