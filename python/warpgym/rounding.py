"""What rounding alone may do to a reference's outputs.

The reference runs at double precision, once plainly and DRAWS times with a random error of one
rounding of its real type on all that enters each operation (Monte Carlo arithmetic: Parker, 1997).
How far the outputs move is the size of error that float arithmetic gives them, whatever is left of
the numbers that entered: where terms cancel, it does not become smaller with the result.

ROUNDINGS and OWN say how much more than that an honest kernel may be off. docs/design/tolerance.md
derives both.
"""

import contextlib
import copy
import math

import torch

from . import structure
from .operations import OperationMode
from .stopwatch import stopwatch

DRAWS = 4
DRAW_S = 1.0  # no further draw begins after that time
SLOW_S = 4.0  # references that took longer have their own error alone
MANY = 1 << 16  # elements, whose own errors say enough unless they are large
ROUNDINGS = 32  # a thread's sum of a thousand terms is off by about twenty roundings of its terms
OWN = 8  # of the reference's own errors: it has five of them somewhere among a million outputs
OWN_MOST = 1 / 64  # of an output: beyond it, own errors are no roundings
MOST = 1e-4  # of the largest numbers that entered an operation
# x * (1 + erf(x)): within one operation x is added to its opposite. No sum is made: 4 roundings.
CANCELLING = {"aten::gelu": 4 / ROUNDINGS}
WIDE = (torch.float64, torch.complex128)
CONVOLUTION = "aten::convolution"  # transposed ones, too
CONVOLUTION_FACTORS = 2  # its input and its weight come first
TF32_HALF, TF32_REST = 0x1000, 0x1FFF  # of the 13 bits that are left out
TF32_ERRORS = 2  # the largest of one order of additions, for all others
TF32_MOST = 1 / 16  # of an output: more would forgive an answer that is wrong


class Rounded(OperationMode):
    """Operations within it take inputs that are off by one rounding of `unit`."""

    def __init__(self, unit, seed, device):
        super().__init__()
        self.unit = unit
        self.generator = torch.Generator(device).manual_seed(seed)
        self.entered = 0.0  # largest root mean square of what entered

    def _error(self, tensor):
        return torch.empty(tensor.shape, dtype=torch.float64, device=tensor.device).uniform_(
            -self.unit, self.unit, generator=self.generator
        )

    def _moved(self, value):
        if not isinstance(value, torch.Tensor) or value.dtype not in WIDE:
            return value
        if value.numel() == 0 or value.device != self.generator.device:
            return value
        self.entered = max(self.entered, _size(value))
        return value * self._error(value).add_(1)

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        schema = operation._schema
        if any(returned.alias_info for returned in schema.returns):
            return operation(*arguments, **(keywords or {}))
        moved = [
            value if declared.alias_info else self._moved(value)
            for value, declared in zip(arguments, schema.arguments, strict=False)
        ]
        result = operation(*moved, **(keywords or {}))
        if schema.name in CANCELLING:
            result = result + moved[0] * self._error(result) * CANCELLING[schema.name]
        return result


class Tf32(OperationMode):
    """Convolutions within it take float32 numbers as cuDNN may take them: rounded to 11 bits."""

    def __init__(self):
        super().__init__()
        self.seen = False

    @staticmethod
    def _moved(value):
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return value
        bits = value.contiguous().view(torch.int32)
        return ((bits + TF32_HALF) & ~TF32_REST).view(torch.float32)

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        if operation._schema.name == CONVOLUTION:
            self.seen = True
            factors = map(self._moved, arguments[:CONVOLUTION_FACTORS])
            arguments = (*factors, *arguments[CONVOLUTION_FACTORS:])
        return operation(*arguments, **(keywords or {}))


def tf32_errors(model, inputs):
    """What an honest kernel may be off in each output, on these inputs, where convolutions may be
    TF32: on inputs of another mean it is more, because the errors of weights add up."""
    plain = run(copy.deepcopy(model), structure.copied(inputs))
    with Tf32():
        moved = run(copy.deepcopy(model), structure.copied(inputs))
    return [
        min(TF32_ERRORS * _largest(one - other), TF32_MOST * _size(other)) if _is_real(other) else 0
        for one, other in zip(moved, plain, strict=True)
    ]


def _largest(difference):
    finite = difference.abs().nan_to_num_(0.0, 0.0, 0.0)
    return finite.max().item() if finite.numel() else 0.0


def _movement(one, other):
    """Root mean square over the elements that moved: a ReLU may hold nearly all at zero."""
    difference = one - other
    share = torch.count_nonzero(difference).item() / max(difference.numel(), 1)
    return _size(difference) / math.sqrt(share) if share else 0.0


def _size(tensor):
    """Root mean square of the finite elements."""
    norm = torch.linalg.vector_norm(tensor).item()
    if not math.isfinite(norm):
        tensor = tensor[tensor.isfinite()]
        norm = torch.linalg.vector_norm(tensor).item()
    return norm / math.sqrt(max(tensor.numel(), 1))


def run(model, inputs):
    """Outputs of a call in which layers draw the same as in every other."""
    torch.manual_seed(0)
    return structure.flatten(model(*inputs))


def _is_real(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def _spread(model, inputs, wide, unit):
    """How far one rounding of everything moves each output, and the largest size that entered."""
    squares = [0.0] * len(wide)
    entered = 0.0
    seconds = stopwatch(wide[0].device.type)
    draws = 0
    while draws < DRAWS and (draws == 0 or seconds() < DRAW_S):
        mine = copy.deepcopy(model), structure.copied(inputs)
        with Rounded(unit, draws, wide[0].device) as mode:
            moved = run(*mine)
        for i, (one, other) in enumerate(zip(moved, wide, strict=True)):
            squares[i] += _movement(one, other) ** 2 if _is_real(other) else 0
        entered = max(entered, mode.entered)
        draws += 1
    return [math.sqrt(square / draws) for square in squares], entered


def _is_doubtful(wide, plain):
    """Whether an output is so small, or so near to what rounding does, that one run says little."""
    few = wide.numel() < MANY
    return _is_real(wide) and (few or ROUNDINGS * _movement(plain, wide) > MOST * _size(wide))


def allowance(model, inputs, wide, plain, took_s):
    """The error of each output that rounding explains, 0 where it is not of real numbers. `model`
    and `inputs` are those of double precision, `wide` and `plain` what run gave with and without
    it, in `took_s` seconds. Behind them the largest that any can be."""
    real = [_is_real(one) and _is_real(other) for one, other in zip(plain, wide, strict=True)]
    unit = max((torch.finfo(one.dtype).eps / 2 for one in plain if _is_real(one)), default=0)
    spread, entered = [0.0] * len(wide), 0.0
    with contextlib.suppress(Exception):  # an operation that bears no such inputs, or no memory
        doubtful = any(_is_doubtful(*pair) for pair in zip(wide, plain, strict=True))
        if unit and doubtful and took_s < SLOW_S:
            spread, entered = _spread(model, inputs, wide, unit)
    most = max(MOST, 4 * unit) * entered
    noise = []
    for one, other, moved, is_real in zip(plain, wide, spread, real, strict=True):
        own, own_moved = 0.0, 0.0
        if is_real:
            own = min(OWN * _size(one - other), max(most, OWN_MOST * _size(other)))
            own_moved = OWN * _movement(one, other)
        noise.append(max(own, min(max(own_moved, ROUNDINGS * moved), most)))
    return [*noise, most]


def measure(models, inputs, device, put_back=lambda: None, mode=None):
    """Outputs at double precision and without it, and what allowance says of them. `models` and
    `inputs`: those of double precision, which runs within `mode`, and those without it. `put_back`
    undoes what these calls did to the models."""
    seconds = stopwatch(device)
    with mode or contextlib.nullcontext():
        wide = run(models[0], structure.copied(inputs[0]))
    plain = run(models[1], inputs[1])
    took_s = seconds()
    put_back()
    return wide, plain, allowance(models[0], inputs[0], wide, plain, took_s)
