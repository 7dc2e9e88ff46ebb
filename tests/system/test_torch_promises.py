"""What is seen in several draws of a tensor, which random numbers can be others, and in how much
memory; without a judge."""

import itertools
import random
import types

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from warpgym import child, gpu, promises, rounding, stopwatch  # noqa: E402

NAMES = {name.split(":")[0]: name for name, *_ in promises.PROMISES}
TWO, PLACES, AS_MANY, SUMS, SQUARES, EXPONENTIALS, WHOLE, DEFINITE, DOMINANT = NAMES


def randn(*shape):
    return torch.randn(*shape)


def sparse(kept, rows=40):
    """The places of zeros are drawn."""
    return randn(rows, 50) * (torch.rand(rows, 50) < kept)


def symmetric(a):
    return a + a.T


def centred(a):
    return a - a.mean(1, keepdim=True)


def covariance(a):
    return a @ a.mT


# A draw, and the promises for which it is left as it is. Others may hold beside them; where none is
# named, none may.
SEEN = {
    "normal": (lambda: randn(64, 100), None),
    "one_row": (lambda: randn(10_000), None),
    "uniform": (lambda: torch.rand(64, 4096), None),
    "half": (lambda: torch.rand(64, 4096).half(), None),
    "bfloat16": (lambda: torch.rand(64, 4096).bfloat16(), None),
    "images": (lambda: torch.rand(4, 3, 32, 32), None),
    "complex": (lambda: torch.randn(64, 32, dtype=torch.complex64), None),
    "upper": (lambda: randn(50, 50).triu(), None),
    "banded": (lambda: randn(50, 50).triu(-1).tril(1), None),
    "upper_bfloat16": (lambda: torch.rand(50, 50).bfloat16().triu(), None),
    "symmetric": (lambda: symmetric(randn(50, 50)), None),
    "sorted": (lambda: randn(50, 50).sort(0).values, None),
    "whole_numbers": (lambda: torch.randint(1, 100, (64, 64)).double(), None),
    "shifted_whole": (lambda: torch.randint(1, 9, (40,)).float(), None),
    "fixed": (lambda: torch.linspace(-1, 3, 77).exp() + torch.rand(77), None),
    "signs": (lambda: randn(64, 9).sign(), {TWO}),
    "one_hot": (lambda: torch.eye(10)[torch.randint(10, (64,))], {TWO, SUMS, SQUARES}),
    "labels": (lambda: torch.randint(0, 2, (5000,)).double(), {TWO}),
    "sparse": (lambda: sparse(0.1), {PLACES}),
    "very_sparse": (lambda: sparse(0.003, 80), {PLACES}),
    "few_zeros": (lambda: sparse(0.9), {PLACES}),
    "dropout_of_long_rows": (lambda: torch.nn.functional.dropout(torch.rand(9, 40_000)), {PLACES}),
    "closed": (lambda: randn(9, 9).masked_fill(torch.rand(9, 9) > 0.8, -torch.inf), {PLACES}),
    "probabilities": (lambda: randn(64, 100).softmax(1), {SUMS}),
    "probability_columns": (lambda: randn(100, 64, 3).softmax(0), {SUMS}),
    "one_distribution": (lambda: randn(1_000_000).softmax(0), {SUMS}),
    "half_probabilities": (lambda: randn(64, 300).softmax(1).half(), {SUMS}),
    "centred": (lambda: centred(randn(20, 333)), {SUMS}),
    "log_probabilities": (lambda: randn(64, 2, 100).log_softmax(2), {EXPONENTIALS}),
    "bfloat16_log_probabilities": (
        lambda: randn(64, 300).log_softmax(1).bfloat16(), {EXPONENTIALS},
    ),
    "unit": (lambda: torch.nn.functional.normalize(randn(64, 100)), {SQUARES}),
    "phases": (lambda: torch.polar(torch.ones(64, 9), randn(64, 9)), {SQUARES}),
    "rotation": (lambda: torch.linalg.qr(randn(40, 40))[0], {SQUARES}),
    "permutation": (lambda: torch.randperm(256).float(), {SUMS, WHOLE}),
    "chosen": (lambda: 2.0 * torch.randperm(10_000)[:300], {WHOLE}),
    "covariance": (lambda: covariance(randn(3, 80, 200)), {DEFINITE}),
    "diagonal": (lambda: torch.rand(64, 64) + 64 * torch.eye(64), {DOMINANT}),
}  # fmt: skip


def held_by(make):
    slot = [make().contiguous()]
    return promises.held(slot, lambda: slot[0].copy_(make()))[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SEEN)
def test_seen(name, seed):
    make, wanted = SEEN[name]
    torch.manual_seed(seed)
    held = {name.split(":")[0] for name in held_by(make)}
    assert held >= wanted if wanted else held == set()


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(9),
        lambda: torch.ones(9) > 0,
        lambda: torch.ones(1),
        lambda: torch.ones(0),
        lambda: torch.tensor(3.0),
        lambda: torch.rand(promises.LONGEST + 1),
    ],
)
def test_left_as_drawn(make):
    assert held_by(make)


def gate(a):
    return [a, 1 - a]


def angles(a):
    return [a.cos(), a.sin()]


def outer(a, b):
    return a[:, None] * b


def bounded(a):
    assert a.mean().abs() < 0.5
    return [a]


def by_python(n):
    return torch.tensor([random.random() for _ in range(n)])


def normal(generator):
    return torch.empty(4096, 2).T.normal_(generator=generator)


# get_inputs; which of its sources of random numbers are others; what holds of tensors all the same
OTHERS = {
    "gate": (lambda: gate(torch.rand(4096)), {0}, lambda a, b: torch.equal(1 - a, b)),
    "angles": (
        lambda: angles(randn(4096)), {0}, lambda a, b: (a * a + b * b).allclose(torch.ones(1)),
    ),
    "softmax": (
        lambda: [x := randn(99, 99), x.softmax(1)], {0},
        lambda a, b: a.softmax(1).allclose(b, atol=1e-6),
    ),
    "antisymmetric": (
        lambda: [(a := randn(64, 64)) - a.T], {0}, lambda a: torch.equal(a, -a.T),
    ),
    "rank one": (
        lambda: [outer(torch.rand(64) + 1, randn(64))], {0, 1},
        lambda a: outer(a[:, 0], a[0]).allclose(a * a[0, 0], atol=1e-4),
    ),
    "range": (
        lambda: [(10 * torch.rand(9999)).long() + 1], {0},
        lambda a: a.min() == 1 and a.max() == 10,
    ),
    "by a generator": (
        lambda: [normal(torch.Generator().manual_seed(int(torch.randint(9, ()))))], {0},
        lambda a: a.shape == (2, 4096),
    ),
    "mask": (
        lambda: [randn(64, 99), (torch.rand(64, 99) > 0.9).float()], {0},
        lambda a, b: 0.07 < b.mean() < 0.13,
    ),
    "logical mask": (
        lambda: [torch.rand(64, 99) > 0.9, randn(64, 99)], {1},
        lambda a, b: 0.07 < a.float().mean() < 0.13,
    ),
    "dominant by chance": (
        lambda: [randn(1024, 1024) + 880 * torch.eye(1024)], set(),
        lambda a: (a.diagonal() > 800).all(),
    ),
    "refuses other numbers": (lambda: bounded(randn(4096)), set(), lambda a: a.mean() < 0.5),
    "refuses some": (
        lambda: [randn(4096), *bounded(randn(4096))], {0}, lambda a, b: b.mean() < 0.5,
    ),
    "permutation": (lambda: [torch.randperm(99)], set(), lambda a: a.sum() == 49 * 99),
    "not PyTorch's": (lambda: [by_python(99)], set(), lambda a: True),
}  # fmt: skip


def drawing(make):
    slot = [one.contiguous() for one in make()]

    def draw():
        for into, one in zip(slot, make(), strict=True):
            into.copy_(one)

    return slot, draw


@pytest.mark.parametrize("name", OTHERS)
def test_other_random_numbers(name):
    make, wanted, relation = OTHERS[name]
    torch.manual_seed(0)
    slot, draw = drawing(make)
    _, chosen, extended = promises.look(slot, draw)
    assert chosen == wanted
    assert any(extended) == (name == "not PyTorch's")
    means = []
    for largest in (False, True):
        with promises.Shifted(largest, chosen):
            draw()
        assert relation(*slot)
        means.append([one.double().mean().item() for one in slot])
    moved = [abs(after - before) > 0.2 for before, after in zip(*means, strict=True)]
    assert any(moved) == bool(chosen) or name == "antisymmetric"


def of_numpy(n):
    return torch.from_numpy(numpy.random.rand(n))


def of_own_generator(n):
    return torch.from_numpy(numpy.random.default_rng().random(n))


def cauchy(n):
    return torch.distributions.Cauchy(0.0, 1.0).sample((n,))


KEPT = torch.Generator()

# get_inputs; of which tensors the elements are extended.
ELSEWHERE = {
    "normal": (lambda: [torch.rand(99), torch.normal(0.0, 1.0, (99,))], [False, True]),
    "normal first": (lambda: [torch.normal(0.0, 1.0, (99,)), torch.rand(99)], [True, False]),
    "cauchy": (lambda: [torch.rand(99), cauchy(99)], [False, True]),
    "numpy": (lambda: [torch.rand(99), of_numpy(99)], [False, True]),
    "numpy's generator": (lambda: [torch.rand(99), of_own_generator(99)], [False, True]),
    "a module's generator": (lambda: gate(torch.rand(99, generator=KEPT)), [False, False]),
    "both": (lambda: [torch.rand(99) + torch.normal(0.0, 1.0, (99,))], [False]),
    "in another order": (lambda: gate(torch.rand(99)[torch.randperm(99)]), [False, False]),
    "constant": (lambda: [torch.rand(99), torch.linspace(0, 1, 99)], [False, False]),
    "mask": (lambda: [torch.rand(99), torch.normal(0.0, 1.0, (99,)) > 0], [False, False]),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_numbers_from_elsewhere(name):
    make, wanted = ELSEWHERE[name]
    torch.manual_seed(0)
    _, chosen, extended = promises.look(*drawing(make))
    assert (chosen, extended) == ({0}, wanted)


# How many sources are looked at in time, beside a mask that breaks where all are others.
@pytest.mark.parametrize("in_time", range(4))
def test_numbers_that_are_not_looked_at(in_time, monkeypatch):
    def make():
        return [torch.rand(64, 99) > 0.9, randn(64, 99), randn(64, 99)]

    times = itertools.chain([0.0] * (1 + in_time), itertools.repeat(promises.LOOK_S))
    monkeypatch.setattr(promises, "stopwatch", lambda: lambda: next(times))
    torch.manual_seed(0)
    _, chosen, extended = promises.look(*drawing(make))
    assert chosen == {1, 2} & set(range(in_time))
    assert extended == [False, in_time < 2, in_time < 3]


@pytest.fixture
def crowded(monkeypatch):
    """A minute passes, and a millisecond of it is this process's, whenever it looks."""
    minutes, own = itertools.count(0, 60), itertools.count(0, 0.001)
    clock = types.SimpleNamespace(
        monotonic=lambda: next(minutes), process_time=lambda: next(own)
    )
    monkeypatch.setattr(stopwatch, "time", clock)


def test_load_changes_no_verdict(crowded):
    slot = [randn(64, 64)]
    assert promises.look(slot, lambda: slot[0].copy_(randn(64, 64)))[1] == {0}
    wide = [randn(64, 64).double()]
    outputs, seconds = rounding.run(torch.mean, wide), stopwatch.stopwatch()
    plain = [one.float() for one in outputs]
    noise = rounding.allowance(torch.mean, wide, outputs, plain, seconds())
    assert noise[-1] > 0  # 0 where the noise of a slow reference is not measured


@pytest.mark.parametrize(("device", "seconds"), [("cpu", 0.001), ("cuda", 60)])
def test_stopwatch(crowded, device, seconds):
    assert stopwatch.stopwatch(device)() == pytest.approx(seconds)


def test_other_random_numbers_take_little_memory():
    numbers = torch.empty(3 * promises.PIECE)
    with Largest() as largest, promises.Shifted(True, {0}):
        numbers.uniform_()
    assert 0 < largest.bytes <= 4 * promises.PIECE and 0.74 < numbers.mean() < 0.76


class Largest(TorchDispatchMode):
    """Bytes of the largest new tensor that is made within it."""

    bytes = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        old = {
            one.untyped_storage().data_ptr() for one in arguments if isinstance(one, torch.Tensor)
        }
        for one in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(one, torch.Tensor) and one.untyped_storage().data_ptr() not in old:
                self.bytes = max(self.bytes, one.untyped_storage().nbytes())
        return result


@pytest.mark.parametrize(
    "shape", [(1 << 24,), (4096, 4096), (8, 8, 1 << 18), (1 << 18, 8, 8), (3, 2, 1, 1 << 22)]
)
def test_memory_does_not_grow_with_the_tensor(shape):
    tensor = torch.rand(shape)
    with Largest() as largest:
        promises._measured(tensor)
    assert 0 < largest.bytes <= 2**19


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
@pytest.mark.parametrize("largest", [False, True])
def test_extend(dtype, largest):
    """In place, each part of a number by itself, also from a tensor that is laid out otherwise."""
    a, b = torch.randn(2, 30, 20, dtype=dtype)
    expected = [
        (max if largest else min)(one, other)
        for one, other in zip(
            promises._real(a).flatten().tolist(), promises._real(b).flatten().tolist(), strict=True
        )
    ]
    place = a.data_ptr()
    promises.extend(a, b.T.contiguous().T, largest)
    assert promises._real(a).flatten().tolist() == expected and a.data_ptr() == place


@pytest.mark.parametrize(("device", "most"), [(None, 1), (gpu.Cpu(), 2)])
def test_a_look_beside_a_gpu_starts_no_threads(device, most):
    """It works on a few thousand numbers on the CPU."""
    seen = []
    one = child.Child.__new__(child.Child)
    one.device = device
    one.bears_seeds = True
    one._draw_anew = lambda slot: seen.append(torch.get_num_threads())
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        one._look([torch.zeros(8)])
        assert {*seen[1:]} == {most} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
