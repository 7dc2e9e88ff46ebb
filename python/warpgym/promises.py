"""Inputs of another distribution that keep what the problem's inputs promise.

A candidate that knows the distribution of the inputs (mean 0, all of one size) is caught by inputs
of another one (catalogue H10). The problem's own get_inputs makes these, of other random numbers:
each number that PyTorch draws in it becomes the largest of DRAWS, or each the smallest. So whatever
get_inputs computes from random numbers holds as before: triangular, antisymmetric and positive
definite matrices, probabilities, sines beside cosines.

What holds by chance alone may not: a dominant diagonal, one number in ten that is not 0. A row of
PROMISES that holds in LOOKS draws, and not beside those of another distribution, leaves the numbers
that break it as they are. Permutations, whole numbers and choices are drawn as ever.

Numbers that come from elsewhere (NumPy) are seen in what get_inputs returns only: there each
element is the largest of its values in all draws, or each is the smallest. That keeps

* what holds for each element alone: zero patterns, ranges, signs, whole numbers, constants;
* what holds between elements and survives where both become larger: sorted, symmetric, repeated
  and equal tensors, an upper bound above a lower one. Ties stay as rare as the draws have them.

A row of PROMISES that holds leaves such a tensor as it was drawn; whole and logical numbers are
left so, too.

A test takes CHUNK elements of a few slices at a time, so its memory does not grow with the tensor.
"""

import contextlib
import random
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .stopwatch import stopwatch

DRAWS = 3  # of two, the largest has the mean square of one
LOOKS = 3
FEW = 4  # slices along an axis
CHUNK = 1 << 15  # elements in double precision at a time
LONGEST = 1 << 24  # a slice beyond it is not added up: what it promises is unknown
SAMPLE = 1 << 12  # elements that are compared between draws
BLOCK = 64  # rows and columns of a matrix of which the eigenvalues are looked at
RARE = 1 / 32  # of the other numbers: fewer zeros in changing places are numbers like others
SLOW_S = 1.5  # of LOOKS draws: those that take longer are not looked at with other numbers
LOOK_S = 3.0  # no further source of random numbers is tried after that time
PIECE = 1 << 20  # random numbers at a time
SEEDS = 1 << 32  # NumPy takes no larger ones


def _seeders():
    """Functions of a seed, each with the module that has it."""
    yield from ((torch, "manual_seed"), (torch.random, "manual_seed"), (random, "seed"))
    yield from ((torch.cuda, "manual_seed"), (torch.cuda, "manual_seed_all"))
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"].random
        yield from ((numpy, "seed"), (numpy, "default_rng"))


@contextlib.contextmanager
def other_seeds():
    """Within it, seeds that a problem sets itself are others: get_inputs draws anew, and what it
    draws twice from one seed stays equal."""
    shift = torch.randint(SEEDS, ()).item()
    plain = [(module, name, getattr(module, name)) for module, name in _seeders()]
    generator = torch.Generator

    def other(own):
        return (own + shift) % SEEDS if isinstance(own, int) else own

    class Generator(generator):
        def manual_seed(self, own):
            return super().manual_seed(other(own))

    def moved(seeder):
        return lambda own=None, *more: seeder(other(own), *more)

    for module, name, seeder in plain:
        setattr(module, name, moved(seeder))
    torch.Generator = Generator
    try:
        yield
    finally:
        torch.Generator = generator
        for module, name, seeder in plain:
            setattr(module, name, seeder)


def _real(tensor):
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


# --- random numbers of another distribution -----------------------------------------------------

# Operations that make random numbers, and what fills memory with such; those that fill memory.
MAKE = {
    "aten::rand": "uniform_",
    "aten::rand_like": "uniform_",
    "aten::randn": "normal_",
    "aten::randn_like": "normal_",
}
FILL = {"aten::uniform_", "aten::normal_", "aten::exponential_", "aten::log_normal_"}


class Shifted(TorchDispatchMode):
    """Within it, each random number of the `chosen` operations, by their order, is the largest of
    DRAWS, or each the smallest."""

    def __init__(self, largest, chosen):
        super().__init__()
        self.largest, self.chosen = largest, chosen
        self.sources = 0

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        keywords = keywords or {}
        result = operation(*arguments, **keywords)
        name = operation._schema.name
        if name in MAKE:
            generator = keywords.get("generator")
            self._shift(result, lambda piece: getattr(piece, MAKE[name])(generator=generator))
        elif name in FILL:
            self._shift(result, lambda piece: operation(piece, *arguments[1:], **keywords))
        return result

    def _shift(self, numbers, fill):
        number = self.sources
        self.sources += 1
        if self.chosen is not None and number not in self.chosen:
            return
        for piece in numbers.view(-1).split(PIECE) if numbers.is_contiguous() else [numbers]:
            for _ in range(DRAWS - 1):
                extend(piece, fill(torch.empty_like(piece)), self.largest)


# --- what one draw is like -----------------------------------------------------------------------


def _sample(tensor):
    """The same elements of each draw."""
    flat = tensor.reshape(-1)
    if len(flat) <= SAMPLE:
        return flat
    generator = torch.Generator().manual_seed(0)
    return flat[torch.randint(len(flat), (SAMPLE,), generator=generator).to(flat.device)]


def _slices(tensor, axis):
    """A few along `axis`, as rows: neighbours on the longest other axis."""
    moved = tensor.movedim(axis, -1)
    longest = max(range(moved.dim() - 1), key=lambda other: moved.shape[other], default=0)
    for other in range(moved.dim() - 1):
        moved = moved.narrow(other, 0, min(FEW, moved.shape[other]) if other == longest else 1)
    return moved.reshape(-1, moved.shape[-1])


def _each_axis(tensor, measure):
    axes = [axis for axis in range(tensor.dim()) if tensor.shape[axis] > 1]
    return [measure(_slices(tensor, axis)) for axis in axes]


def _totals(of):
    """Of each slice: the sum of `of`, and what its rounding may come to."""

    def measure(slices):
        if slices.shape[1] > LONGEST:
            return torch.zeros(2, len(slices))
        unit = torch.finfo(slices.dtype).eps
        total, size, error = torch.zeros(3, len(slices), device=slices.device).double()
        for part in slices.split(max(1, CHUNK // len(slices)), 1):
            values, relative = of(part.double())
            total += values.sum(1)
            size += values.abs().sum(1)
            error += (values * relative).square().sum(1)
        sums = max(16, slices.shape[1] ** 0.5 / 8) * 2**-23  # of get_inputs itself, in float32
        return torch.stack((total, 2 * unit * error.sqrt() + sums * size))

    return lambda tensor: _each_axis(tensor, measure)


def _exponentials(tensor):
    if bool((_sample(tensor) > 0).any()):
        return []
    return _totals(lambda x: (x.exp(), 1 + x.abs()))(tensor)


def _distinct_whole(slices):
    ordered = slices[:, :SAMPLE].double().sort(1).values
    return bool((ordered == ordered.floor()).all() and (ordered.diff(dim=1) > 0).all())


def _few_values(tensor):
    sampled = _sample(tensor)
    return bool(((sampled == sampled.min()) | (sampled == sampled.max())).all())


def _special(tensor):
    sampled = _sample(tensor)
    return torch.stack((sampled == 0, ~sampled.isfinite()))


def _matrix(tensor):
    """The first one; None where the last two axes make no square."""
    square = tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2] > 1
    return tensor[(0,) * (tensor.dim() - 2)] if square else None


def _definite(tensor):
    matrix = _matrix(tensor)
    if matrix is None:
        return False
    block = matrix[:BLOCK, :BLOCK].double().cpu()
    rounding = torch.finfo(tensor.dtype).eps * block.abs().max() * len(block)
    if not block.isfinite().all() or (block - block.T).abs().max() > rounding:
        return False
    return bool(torch.linalg.eigvalsh(block).min() >= -rounding)


def _dominant(tensor):
    matrix = _matrix(tensor)
    if matrix is None:
        return False
    rows = matrix[:FEW].double().abs()
    return bool((2 * rows.diagonal() >= rows.sum(1)).all())


# --- what several draws have in common -----------------------------------------------------------


def _alike(draws):
    """Some axis along which all slices of all draws have the same total."""
    axes = [torch.stack(axis) for axis in zip(*draws, strict=False)]
    return any(
        bool(axis[:, 0].max() - axis[:, 0].min() <= axis[:, 1].max()) for axis in axes
    )


def _any_axis(draws):
    return any(all(axis) for axis in zip(*draws, strict=True))


def _move(draws):
    seen = torch.stack(draws)
    moving = seen.any(0) & ~seen.all(0)
    others = (~seen[:, 0]).double().mean()
    return bool(moving[0].double().mean() > RARE * others or moving[1].any())


def _as_many(draws):
    shares = torch.stack([seen.double().mean(1) for seen in draws])
    count = draws[0].shape[1]
    scatter = 6 * (shares * (1 - shares)).amax(0).sqrt() / count**0.5 + 2 / count
    return _move(draws) and bool((shares.amax(0) - shares.amin(0) <= scatter).all())


# What another distribution may not keep: name, measure of one draw, whether all draws hold it.
PROMISES = [
    ("two values: masks, labels, one-hot rows", _few_values, all),
    ("zeros or infinities in other places each time", _special, _move),
    ("as many zeros or infinities each time", _special, _as_many),
    ("sums: probabilities, centred rows", _totals(lambda x: (x, 1)), _alike),
    ("squares: unit vectors, rotations", _totals(lambda x: (x * x, 2)), _alike),
    ("exponentials: log-probabilities", _exponentials, _alike),
    (
        "whole numbers without repetition: permutations",
        lambda tensor: _each_axis(tensor, _distinct_whole),
        _any_axis,
    ),
    ("positive definite", _definite, all),
    ("dominant diagonal", _dominant, all),
]


WHOLE = "no floating-point numbers"


def _is_real(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def _measured(tensor):
    """Of one tensor: whether its numbers are whole, and what each row of PROMISES measures."""
    if tensor.numel() == 0:
        return True, [None] * len(PROMISES)
    whole = not _is_real(tensor)
    seen = [
        None if whole and measure is not _special else measure(_real(tensor))
        for _, measure, _ in PROMISES
    ]
    return whole, seen


def _held(draws):
    of_each = zip(*[seen for _, seen in draws], strict=True)
    found = [WHOLE] if draws[0][0] else []
    for (name, _, hold), seen in zip(PROMISES, of_each, strict=True):
        if seen[0] is not None and hold(seen):
            found.append(name)
    return found


def _looks(slot, draws):
    """What is measured in each draw, by tensor."""
    looks = []
    for draw in draws:
        draw()
        looks.append([_measured(tensor) for tensor in slot])
    return list(zip(*looks, strict=True))


def held(slot, draw):
    """For each tensor of `slot` the names of the promises that hold in it. `draw` fills the slot,
    whose tensors are contiguous."""
    return [_held(draws) for draws in _looks(slot, [draw] * LOOKS)]


class _Other:
    """Draws of other random numbers, on either side."""

    def __init__(self, slot, draw):
        self.slot, self.draw = slot, draw
        self.plain = _looks(slot, [draw] * LOOKS)
        self.sources = 0

    def _shifted(self, largest, chosen):
        with Shifted(largest, chosen) as mode:
            self.draw()
        self.sources = mode.sources

    def bears(self, chosen=None):
        """Whether what holds in plain draws holds where the chosen random numbers are others."""
        draws = [lambda: self._shifted(True, chosen), lambda: self._shifted(False, chosen)]
        try:
            shifted = _looks(self.slot, draws)
        except Exception:  # noqa: BLE001 - whatever get_inputs raises of numbers it does not expect
            return False
        pairs = zip(self.plain, shifted, strict=True)
        return all({*_held(plain)} <= {*_held(plain + other)} for plain, other in pairs)


def look(slot, draw):
    """What `held` says, and which of the random numbers that get_inputs draws, by their order, can
    be others; None where it draws none, or where finding out takes long."""
    seconds = stopwatch()
    other = _Other(slot, draw)
    names = [_held(draws) for draws in other.plain]
    if seconds() > SLOW_S:
        return names, None
    if other.bears():
        return names, set(range(other.sources)) or None
    chosen = set()
    for source in range(other.sources):
        if seconds() < LOOK_S and other.bears(chosen | {source}):
            chosen.add(source)
    return names, chosen


def extend(into, tensor, largest):
    """Takes one more draw into account."""
    choose = torch.maximum if largest else torch.minimum
    choose(_real(into), _real(tensor), out=_real(into))
