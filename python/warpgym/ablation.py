"""A call in which a candidate's own kernels have no effect: decoys.h says what that shows.

They still run, so that one which fails goes on failing, and a fallback behind it goes on being
taken. Triton kernels work on copies of their arguments. So do functions of extensions, which in
addition return zeros, unless what they return is an operator's of PyTorch.

Behind it, how long a call takes without them is how long everything else takes: with `leave_out`
what returned zeros does so at once, in the same order.
"""

import contextlib
import functools
import gc
import os
import sys
import types

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from . import extension
from .operations import OperationMode


def _tensors(value):
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _copies(value):
    return tree_map_only(torch.Tensor, torch.clone, value)


class _Operators(OperationMode):
    """Knows which tensors are arguments or made of them by PyTorch's operators alone."""

    def __init__(self, arguments):
        super().__init__()
        self.made = {}
        self._keep(arguments)

    @staticmethod
    def _key(tensor):
        return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()

    def _keep(self, value):
        for tensor in _tensors(value):
            self.made[self._key(tensor)] = tensor.clone()

    def made_all(self, value):
        """None of it was written to since by other code."""
        kept = [(self.made.get(self._key(tensor)), tensor) for tensor in _tensors(value)]
        return all(made is not None and torch.equal(made, tensor) for made, tensor in kept)

    def __torch_dispatch__(self, operator, _types, arguments=(), keywords=None):
        keywords = keywords or {}
        own = isinstance(operator._op, functools.partial)  # an extension's, replaced
        alone = not own and self.made_all((arguments, keywords))
        result = (operator._op.args[0] if own else operator)(*arguments, **keywords)
        if alone:
            self._keep(result)
        else:
            for tensor in _tensors(result):
                self.made.pop(self._key(tensor), None)
        return result


class _LeftOut:
    """What functions of extensions returned in the last ablated call."""

    def __init__(self):
        self.zeros = []  # (what,), or None where it was not zeros
        self.left = iter(())  # of a call in which they are left out
        self.replaced = False


_left_out = _LeftOut()


def _call(function, *arguments, **keywords):
    """A function of an extension, without effect."""
    at = len(_left_out.zeros)
    _left_out.zeros.append(None)
    given = _copies((arguments, keywords))
    operators = _Operators(given)
    with operators:
        result = function(*given[0], **given[1])
    for tensor, copy in zip(_tensors((arguments, keywords)), _tensors(given), strict=True):
        if operators.made_all(copy):
            tensor.copy_(copy)
    if _tensors(result) and operators.made_all(result):
        return result
    zeros = tree_map_only(torch.Tensor, torch.zeros_like, result)
    zeros = tree_map_only((int, float, complex), lambda number: type(number)(0), zeros)
    _left_out.zeros[at] = (zeros,)
    return zeros


def _leave_out(function, *arguments, **keywords):
    zeros = next(_left_out.left, None)
    return zeros[0] if zeros else function(*arguments, **keywords)


def _replace(kept, new, undo):
    """Wherever a candidate holds it by name. No comprehension: its cell would be a holder."""
    for holder in gc.get_referrers(kept):
        if isinstance(holder, types.CellType):
            undo.callback(setattr, holder, "cell_contents", kept)
            holder.cell_contents = new
            continue
        names = holder if isinstance(holder, dict) else getattr(holder, "__dict__", None)
        for name, value in list(names.items()) if isinstance(names, dict) else ():
            if value is kept:
                undo.callback(names.__setitem__, name, kept)
                names[name] = new


def _method(self, call, method, *arguments, **keywords):
    return call(method, self, *arguments, **keywords)


def _replace_methods(kind, call, undo):
    for name, method in list(vars(kind).items()):
        if callable(method) and (name == "__call__" or not name.startswith("__")):
            undo.callback(setattr, kind, name, method)
            setattr(kind, name, functools.partialmethod(_method, call, method))


def _replace_extensions(call, undo):
    for function in extension.callables():
        if isinstance(function, type):
            _replace_methods(function, call, undo)
        else:
            _replace(function, functools.partial(call, function), undo)
    for operator in extension.packets():
        undo.callback(setattr, operator, "_op", operator._op)
        operator._op = functools.partial(call, operator._op)


def _replace_triton(undo):
    if "triton" not in sys.modules:
        return
    if os.environ.get("TRITON_INTERPRET") == "1":
        from triton.runtime import interpreter

        owner, name = interpreter.GridExecutor, "__call__"
    else:
        from triton.runtime import jit

        owner, name = jit.JITFunction, "run"
    kept = getattr(owner, name)
    undo.callback(setattr, owner, name, kept)
    setattr(
        owner,
        name,
        lambda kernel, *arguments, **keywords: kept(
            kernel, *_copies(arguments), **_copies(keywords)
        ),
    )


@contextlib.contextmanager
def ablated(on_gpu):
    """On a GPU the launch trace shows what extensions do (coverage.h)."""
    with contextlib.ExitStack() as undo:
        _replace_triton(undo)
        _left_out.zeros.clear()
        if not on_gpu:
            _replace_extensions(_call, undo)
        yield


def leave_out(wanted):
    """In the next call. The first time takes as long as many a call."""
    if wanted and not _left_out.replaced:
        _replace_extensions(_leave_out, contextlib.ExitStack())
        _left_out.replaced = True
    _left_out.left = iter(_left_out.zeros if wanted else ())
