"""Inputs of another distribution that keep what the problem's inputs promise.

A candidate that knows the distribution of the inputs (mean 0, all of one size) is caught by inputs
of another one (catalogue H10). These are made of several draws of get_inputs: each element is the
largest of its values in all draws, or each is the smallest, by one choice for all tensors. That
keeps, without a look at the inputs,

* what holds for each element alone: zero patterns, ranges, signs, whole numbers, constants;
* what holds between elements and survives where both become larger: sorted, symmetric, repeated
  and equal tensors, an upper bound above a lower one. Ties stay as rare as the draws have them.

It does not keep the rest: a row of PROMISES that holds in each of LOOKS draws leaves a tensor as
get_inputs drew it. Whole and logical numbers are always left so: they may be positions.

A test takes CHUNK elements of a few slices at a time, so its memory does not grow with the tensor.
"""

import contextlib
import random
import sys

import torch

DRAWS = 3  # of two, the largest has the mean square of one
LOOKS = 3
FEW = 4  # slices along an axis
CHUNK = 1 << 15  # elements in double precision at a time
LONGEST = 1 << 24  # a slice beyond it is not added up: what it promises is unknown
SAMPLE = 1 << 12  # elements that are compared between draws
BLOCK = 64  # rows and columns of a matrix of which the eigenvalues are looked at
RARE = 1 / 32  # of the other numbers: fewer zeros in changing places are numbers like others
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


# What the largest of several draws does not keep: name, measure of one draw, whether all hold it.
PROMISES = [
    ("two values: masks, labels, one-hot rows", _few_values, all),
    ("zeros or infinities in other places each time", _special, _move),
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


def _measured(tensor):
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.numel() == 0:
        return None
    return [measure(_real(tensor)) for _, measure, _ in PROMISES]


def _held(draws):
    if draws[0] is None:
        return ["no floating-point numbers"]
    of_each = zip(*draws, strict=True)
    return [name for (name, _, hold), seen in zip(PROMISES, of_each, strict=True) if hold(seen)]


def held(slot, draw):
    """For each tensor of `slot` the names of the promises that it must be left as drawn for. `draw`
    fills the slot, whose tensors are contiguous; the last draw is left in it."""
    looks = []
    for _ in range(LOOKS):
        draw()
        looks.append([_measured(tensor) for tensor in slot])
    return [_held(draws) for draws in zip(*looks, strict=True)]


def extend(into, tensor, largest):
    """Takes one more draw into account."""
    choose = torch.maximum if largest else torch.minimum
    choose(_real(into), _real(tensor), out=_real(into))
