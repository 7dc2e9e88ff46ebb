"""What is seen in several draws of a tensor, and in how much memory; without a judge."""

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from warpgym import promises  # noqa: E402

NAMES = {name.split(":")[0]: name for name, *_ in promises.PROMISES}
TWO, PLACES, SUMS, SQUARES, EXPONENTIALS, WHOLE, DEFINITE, DOMINANT = NAMES


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
