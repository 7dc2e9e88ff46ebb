"""Inputs of another distribution that keep what the problem's inputs promise.

A candidate that knows the distribution of the inputs (mean 0, all of one size) is caught by inputs
of another one (catalogue H10). The problem's own get_inputs makes these, of other random numbers:
each number that PyTorch draws in it becomes the largest of DRAWS, or each the smallest. So whatever
get_inputs computes from random numbers holds as before: triangular, antisymmetric and positive
definite matrices, probabilities, sines beside cosines.

What holds by chance alone may not: a dominant diagonal, one number in ten that is not 0. A row of
PROMISES that holds in LOOKS draws, and not beside those of another distribution, leaves the numbers
that break it as they are. Permutations, whole numbers and choices are drawn as ever.

Numbers that come from elsewhere (NumPy, torch.normal), or that there was no time to look at, are
seen in what get_inputs returns only: in tensors that depend on no others each element is the
largest of its values in all draws, or each is the smallest. That keeps

* what holds for each element alone: zero patterns, ranges, signs, whole numbers, constants;
* what holds between elements and survives where both become larger: sorted, symmetric, repeated
  and equal tensors, an upper bound above a lower one. Ties stay as rare as the draws have them.

A row of PROMISES that holds leaves such a tensor as it was drawn; whole and logical numbers are
left so, too.

A test takes CHUNK elements of a few slices at a time, so its memory does not grow with the tensor.
"""

import contextlib
import functools
import random
import sys

import torch

from .operations import OperationMode
from .stopwatch import stopwatch

DRAWS = 3  # of two, the largest has the mean square of one
LOOKS = 3
FEW = 4  # slices along an axis
CHUNK = 1 << 15  # elements in double precision at a time, on the CPU and in a copy from a GPU
GPU_CHUNK = 1 << 22  # on a GPU, where each step takes as long as many elements
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
GENERATOR = torch.Generator  # other_seeds puts another in its place


class _Sources(OperationMode):
    """Within it, `change` gets the numbers of the `chosen` operations, which are counted in their
    order, and a function that fills memory with more of the kind."""

    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen
        self.sources = 0

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        keywords = keywords or {}
        result = operation(*arguments, **keywords)
        name = operation._schema.name
        if name in MAKE or name in FILL:
            number = self.sources
            self.sources += 1
            if number in self.chosen:
                self.change(result, self._filler(operation, arguments, keywords), number)
        return result

    @staticmethod
    def _filler(operation, arguments, keywords):
        name = operation._schema.name
        if name in MAKE:
            own = keywords.get("generator")
            return lambda into, generator=own: getattr(into, MAKE[name])(generator=generator)
        return lambda into, **more: operation(into, *arguments[1:], **{**keywords, **more})


class Shifted(_Sources):
    """Within it, each random number of the `chosen` operations is the largest of DRAWS, or each the
    smallest."""

    def __init__(self, largest, chosen):
        super().__init__(chosen)
        self.largest = largest

    def change(self, numbers, fill, _):
        for piece in numbers.view(-1).split(PIECE) if numbers.is_contiguous() else [numbers]:
            for _ in range(DRAWS - 1):
                extend(piece, fill(torch.empty_like(piece)), self.largest)


class _Fixed(_Sources):
    """Within it, the random numbers of the `chosen` operations depend on `seed` only."""

    def __init__(self, seed, chosen):
        super().__init__(chosen)
        self.seed = seed

    def change(self, numbers, fill, number):
        seed = (self.seed << 24) + number  # a CPU's generator takes 32 bits
        fill(numbers, generator=GENERATOR(numbers.device).manual_seed(seed))


@contextlib.contextmanager
def _restored(slot):
    """After it, the random numbers of PyTorch, Python and NumPy go on as before it."""
    python = random.getstate()
    numpy = sys.modules["numpy"].random if "numpy" in sys.modules else None
    state = numpy and numpy.get_state()
    try:
        with torch.random.fork_rng(sorted({one.device.index for one in slot if one.is_cuda})):
            yield
    finally:
        random.setstate(python)
        if numpy:
            numpy.set_state(state)


# --- what one draw is like -----------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _places(count, device):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(count, (SAMPLE,), generator=generator).to(device)


def _sample(tensor):
    """The same elements of each draw."""
    flat = tensor.reshape(-1)
    return flat if len(flat) <= SAMPLE else flat[_places(len(flat), flat.device)]


def _slices(tensor, axis):
    """A few along `axis`, as rows: neighbours on the longest other axis."""
    moved = tensor.movedim(axis, -1)
    longest = max(range(moved.dim() - 1), key=lambda other: moved.shape[other], default=0)
    for other in range(moved.dim() - 1):
        moved = moved.narrow(other, 0, min(FEW, moved.shape[other]) if other == longest else 1)
    return moved.reshape(-1, moved.shape[-1])


class _Parts:
    """What is looked at of a tensor of real numbers. It is copied to the host at once: each copy
    waits for a GPU, and for all others that use it."""

    def __init__(self, tensor):
        axes = [axis for axis in range(tensor.dim()) if tensor.shape[axis] > 1]
        slices = [_slices(tensor, axis) for axis in axes]
        parts = [_sample(tensor), *slices, *(one[:, :SAMPLE] for one in slices)]
        square = tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2] > 1
        if square:  # the first matrix
            matrix = tensor[(0,) * (tensor.dim() - 2)]
            parts += [matrix[:BLOCK, :BLOCK], matrix[:FEW]]
        self.sample, *parts = _on_host(parts)
        self.axes, parts = parts[: len(axes)], parts[len(axes) :]
        self.starts, parts = parts[: len(axes)], parts[len(axes) :]
        self.block, self.rows = parts or (None, None)


def _on_host(parts):
    """Long ones stay where they are."""
    short = [part for part in parts if part.numel() <= CHUNK]
    copied = torch.cat([part.reshape(-1) for part in short]).cpu()
    pieces = iter(copied.split([part.numel() for part in short]))
    return [
        next(pieces).view(part.shape) if part.numel() <= CHUNK else part for part in parts
    ]


def _totals(of):
    """Of each slice: the sum of `of`, and what its rounding may come to."""

    def measure(slices):
        if slices.shape[1] > LONGEST:
            return torch.zeros(2, len(slices))
        unit = torch.finfo(slices.dtype).eps
        total, size, error = torch.zeros(3, len(slices), device=slices.device).double()
        chunk = GPU_CHUNK if slices.is_cuda else CHUNK
        for part in slices.split(max(1, chunk // len(slices)), 1):
            values, relative = of(part.double())
            total += values.sum(1)
            size += values.abs().sum(1)
            error += (values * relative).square().sum(1)
        sums = max(16, slices.shape[1] ** 0.5 / 8) * 2**-23  # of get_inputs itself, in float32
        return torch.stack((total, 2 * unit * error.sqrt() + sums * size))

    return lambda parts: [measure(slices) for slices in parts.axes]


def _exponentials(parts):
    if bool((parts.sample > 0).any()):
        return []
    return _totals(lambda x: (x.exp(), 1 + x.abs()))(parts)


def _distinct_whole(slices):
    ordered = slices.double().sort(1).values
    return bool((ordered == ordered.floor()).all() and (ordered.diff(dim=1) > 0).all())


def _few_values(parts):
    sample = parts.sample
    return bool(((sample == sample.min()) | (sample == sample.max())).all())


def _special(parts):
    return torch.stack((parts.sample == 0, ~parts.sample.isfinite()))


def _definite(parts):
    if parts.block is None:
        return False
    block = parts.block.double()
    rounding = torch.finfo(parts.block.dtype).eps * block.abs().max() * len(block)
    if not block.isfinite().all() or (block - block.T).abs().max() > rounding:
        return False
    return bool(torch.linalg.eigvalsh(block.cpu()).min() >= -rounding)


def _dominant(parts):
    if parts.rows is None:
        return False
    rows = parts.rows.double().abs()
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
        lambda parts: [_distinct_whole(slices) for slices in parts.starts],
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
    parts = _Parts(_real(tensor))
    seen = [
        None if whole and measure is not _special else measure(parts)
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

    def _drawn(self, mode):
        with mode:
            self.draw()
        return mode.sources

    def sources(self):
        return set(range(self._drawn(Shifted(True, set()))))

    def bears(self, chosen):
        """Whether what holds in plain draws holds where the chosen random numbers are others."""
        draws = [
            functools.partial(self._drawn, Shifted(largest, chosen)) for largest in (True, False)
        ]
        try:
            shifted = _looks(self.slot, draws)
        except Exception:  # noqa: BLE001 - whatever get_inputs raises of numbers it does not expect
            return False
        pairs = zip(self.plain, shifted, strict=True)
        return all({*_held(plain)} <= {*_held(plain + other)} for plain, other in pairs)

    def _samples(self, seed, sources):
        self._drawn(_Fixed(seed, sources))
        return [_real(_sample(tensor)).to("cpu", copy=True) for tensor in self.slot]

    def elsewhere(self, sources):
        """Of each tensor, whether its numbers are random and depend on none of `sources`. Where
        equal states make other numbers (a generator of NumPy's), they come from elsewhere."""
        found = [self._samples(0, sources)]
        for seed in (0, 0, 1):
            with _restored(self.slot):
                found.append(self._samples(seed, sources))
        return [
            not _same(one, again) or (_same(one, other) and not _same(one, before))
            for before, one, again, other in zip(*found, strict=True)
        ]


def _same(one, other):
    return torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)


def _choose(other, seconds):
    """Sources of random numbers that can be others, and those that were looked at."""
    if seconds() > SLOW_S:
        return set(), set()
    every = other.sources()
    if other.bears(every):
        return every, every
    chosen, looked_at = set(), set()
    for source in every:
        if seconds() >= LOOK_S:
            break
        looked_at.add(source)
        if other.bears(chosen | {source}):
            chosen.add(source)
    return chosen, looked_at


def look(slot, draw):
    """What `held` says; which of the random numbers that get_inputs draws, by their order, can be
    others; and of each tensor whether its elements are to be extended, since its numbers come from
    elsewhere or there was no time to look at them."""
    seconds = stopwatch()
    other = _Other(slot, draw)
    names = [_held(draws) for draws in other.plain]
    chosen, looked_at = _choose(other, seconds)
    free = [not promised for promised in names]
    if looked_at and any(free):
        both = zip(free, other.elsewhere(looked_at), strict=True)
        free = [one and elsewhere for one, elsewhere in both]
    return names, chosen, free


def extend(into, tensor, largest):
    """Takes one more draw into account."""
    choose = torch.maximum if largest else torch.minimum
    choose(_real(into), _real(tensor), out=_real(into))
