"""Which of a reference's outputs are positions of values, and of which values.

The reference runs once more, and each operation that returns positions (argmax, topk, sort, …)
leaves a note: its input, the dimension that it chose along, its result. An output that lies where
such a result lies is one: nothing is guessed from values. The judge then compares the values at the
positions (choice.h), so that an answer which breaks ties otherwise is right.

Of positions in one of the problem's inputs the values have to be equal. Of positions in what the
reference computed they may differ by what rounding does to them.
"""

import math

import torch

from . import rounding, structure
from .operations import OperationMode

# operation: where its result has the positions, and whether those of a row differ
OPERATIONS = {
    "aten::argmax": (None, False),
    "aten::argmin": (None, False),
    "aten::max.dim": (1, False),
    "aten::min.dim": (1, False),
    "aten::median.dim": (1, False),
    "aten::nanmedian.dim": (1, False),
    "aten::kthvalue": (1, False),
    "aten::topk": (1, True),
    "aten::sort": (1, True),
    "aten::sort.stable": (1, True),
}


class Notes(OperationMode):
    def __init__(self):
        super().__init__()
        self.made = []

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        keywords = keywords or {}
        schema = operation._schema
        name = f"{schema.name}.{schema.overload_name}".rstrip(".")
        result = operation(*arguments, **keywords)
        if name in OPERATIONS:
            given = {one.name: one.default_value for one in schema.arguments}
            given |= zip([one.name for one in schema.arguments], arguments, strict=False)
            given |= keywords
            at, distinct = OPERATIONS[name]
            if not given.get("stable"):  # a stable order leaves no choice
                positions = result if at is None else result[at]
                self.made.append((given["self"], given["dim"], positions, distinct))
        return result


def _form(values, dim, positions):
    """Sizes before, along and behind the dimension, and how many positions are taken along it."""
    if dim is None or values.dim() == 0:
        return 1, values.numel(), 1, 1
    dim %= values.dim()
    before, behind = values.shape[:dim], values.shape[dim + 1 :]
    taken = positions.numel() // max(before.numel() * behind.numel(), 1)
    return before.numel(), values.shape[dim], taken, behind.numel()


def _same(positions, output):
    return (
        positions.data_ptr() == output.data_ptr()
        and positions.numel() == output.numel() > 0
        and positions.dtype == output.dtype
        and positions.is_contiguous()
        and output.is_contiguous()
    )


def _slack(values, given):
    """How far two values that are as good as each other may be apart."""
    if not values.is_floating_point() or values.untyped_storage().data_ptr() in given:
        return 0.0
    unit = torch.finfo(values.dtype).eps / 2
    finite = values[values.isfinite()].double()
    size = torch.linalg.vector_norm(finite).item() / math.sqrt(max(finite.numel(), 1))
    return rounding.ROUNDINGS * unit * size


def look(model, inputs):
    """For each output of positions, what choice.h asks for: its number, form and slack in one
    tensor of float64, then the values."""
    tensors = []
    structure.take_apart(list(inputs), tensors)
    given = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    with Notes() as notes:
        outputs = structure.flatten(model(*inputs))
    found = []
    for number, output in enumerate(outputs):
        for values, dim, positions, distinct in notes.made:
            if _same(positions, output):
                facts = (number, *_form(values, dim, positions), distinct, _slack(values, given))
                described = torch.tensor(facts, dtype=torch.float64, device=output.device)
                found += [described, values.contiguous()]
                break
    return found
