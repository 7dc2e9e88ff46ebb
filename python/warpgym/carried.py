"""What a model carries from call to call in tensors that are no parameters, as a hidden state.

KernelBench calls a reference and a candidate equally often, so both go through the same states. The
judge calls each as often as it needs to. So where a call of a reference moves such a tensor, every
call of it, of its oracle, and of a candidate that has one of that name, begins with what the
constructor left there.
"""

import contextlib

import torch

from . import structure

LARGEST_BYTES = 1 << 26  # of a tensor that is kept twice
COUNTED = ("running_mean", "running_var", "num_batches_tracked")  # a call moves and ignores them


def _is_plain(value):
    """Of others two cannot be held against each other."""
    strided = isinstance(value, torch.Tensor) and value.layout == torch.strided
    return strided and not (value.is_quantized or value.is_nested)


def _tensors(model):
    """By name, whose they are and what they are called there."""
    modules = model.named_modules() if isinstance(model, torch.nn.Module) else ()
    for path, module in modules:
        for name, value in (*vars(module).items(), *module.named_buffers(recurse=False)):
            if name not in COUNTED and _is_plain(value) and value.nbytes <= LARGEST_BYTES:
                yield f"{path}.{name}", module, name, value


class _Kept:
    """A tensor as it is now."""

    def __init__(self, module, name, value):
        self.module, self.name, self.value = module, name, value
        self.copy = value.detach().clone()

    def _now(self):
        return getattr(self.module, self.name, None)

    def moved(self):
        same = self._now() is self.value
        return not same or not torch.allclose(self.value, self.copy, 0, 0, equal_nan=True)

    def put_back(self):
        """Where the model has moved it to another device, it stays there."""
        now = self._now()
        if now is self.value:
            now.data.copy_(self.copy)
        else:
            device = now.device if isinstance(now, torch.Tensor) else self.copy.device
            setattr(self.module, self.name, self.copy.to(device, copy=True))


class Carried:
    """Tensors of the models of one process."""

    def __init__(self):
        self.kept = []

    def find(self, model, call):
        """The names of those that a call moves. They are put back, and added."""
        own = {full: _Kept(*where) for full, *where in _tensors(model)}
        if own:
            with torch.no_grad(), contextlib.suppress(Exception):  # which every call raises
                call()
        moved = {full: kept for full, kept in own.items() if kept.moved()}
        self.kept += moved.values()
        self.put_back()
        return list(moved)

    def add(self, model, names):
        self.kept += [_Kept(*where) for full, *where in _tensors(model) if full in names]

    def put_back(self):
        for kept in self.kept:
            kept.put_back()


def without(parameter, model):
    """The model with a parameter of zeros, which has its values again after each call. A copy of a
    model would do, but for one whose functions hold the original's layers."""

    def call(*inputs):
        kept = parameter.detach().clone()
        with torch.no_grad():
            parameter.zero_()
            try:
                return structure.copied(model(*inputs))
            finally:
                parameter.copy_(kept)

    return call
