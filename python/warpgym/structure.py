"""Nested arguments as JSON: what get_inputs() and get_init_inputs() return.

Tensors are taken out in order and numbered; everything else is written as it is. Values that JSON
cannot hold are refused with a sentence, so a problem never runs with something else than it says.

The judge knows real numbers only: a complex tensor is one of pairs of them to it, and a number that
is no tensor is one of a single element.
"""

import torch

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint32,
    torch.uint64,
    torch.bool,
]
CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
COMPLEX = 0x100  # wire.h: WIRE_COMPLEX, beside the code of the parts' type
CODES[torch.complex64] = CODES[torch.float32] | COMPLEX
CODES[torch.complex128] = CODES[torch.float64] | COMPLEX
NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


class Unsupported(TypeError):
    """Inputs or outputs that cannot be handed over or compared."""


def dtype_of(code):
    """The inverse of CODES."""
    dtype = DTYPES[code & ~COMPLEX]
    return dtype.to_complex() if code & COMPLEX else dtype


def code_of(tensor):
    if tensor.dtype not in CODES:
        raise Unsupported(f"tensors of {tensor.dtype} are not supported")
    return CODES[tensor.dtype]


def wide(tensor):
    """At double precision."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor


def plain(tensor):
    """As its bytes have it, without a conjugation or a sign that is still to be applied."""
    if tensor.layout is not torch.strided:
        raise Unsupported(f"tensors with the layout {tensor.layout} are not supported")
    return tensor.resolve_conj().resolve_neg()


def take_apart(value, tensors):
    """JSON-able description of `value`; its tensors are appended to `tensors`."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [take_apart(item, tensors) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[key, take_apart(item, tensors)] for key, item in value.items()]}
    raise Unsupported(f"inputs of type {type(value).__name__} cannot be handed to a candidate")


def put_together(description, tensors):
    """The inverse of take_apart."""
    ((kind, content),) = description.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "value":
        return content
    if kind == "complex":
        return complex(*content)
    if kind == "dict":
        return {key: put_together(item, tensors) for key, item in content}
    items = [put_together(item, tensors) for item in content]
    return tuple(items) if kind == "tuple" else items


def copied(value, copy=torch.Tensor.clone):
    """The same with tensors of its own, or with what `copy` makes of each."""
    if isinstance(value, torch.Tensor):
        return copy(value)
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item, copy) for item in value)
    if isinstance(value, dict):
        return {key: copied(item, copy) for key, item in value.items()}
    return value


def widened(value):
    return copied(value, wide)


def flatten(value, device="cpu"):
    """Tensors of an output: a tensor or a number, or nested lists, tuples and dicts of them."""
    if isinstance(value, torch.Tensor):
        return [plain(value)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flatten(item, device)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in flatten(item, device)]
    if value is None:
        return []
    for kind, dtype in NUMBERS.items():
        if isinstance(value, kind):
            return [torch.tensor(value, dtype=dtype, device=device)]
    raise Unsupported(f"forward returned {type(value).__name__}, not tensors or numbers")


def place(tensors, guard):
    """Offsets (multiples of 64, `guard` bytes behind each) and the size of the whole block."""
    offsets = []
    end = 0
    for tensor in tensors:
        offsets.append(end)
        end += tensor.numel() * tensor.element_size() + guard
        end = (end + 63) // 64 * 64
    return offsets, max((end + 4095) // 4096 * 4096, 4096)


def pack(named):
    """Names with their tensors as rows of JSON, and the bytes that they describe, as a tensor."""
    named = [(name, plain(tensor.detach()).contiguous()) for name, tensor in named]
    offsets, total = place([tensor for _, tensor in named], 0)
    rows = [
        [name, code_of(tensor), list(tensor.shape), offset]
        for (name, tensor), offset in zip(named, offsets, strict=True)
    ]
    data = torch.zeros(total if named else 0, dtype=torch.uint8)
    for (_, tensor), offset in zip(named, offsets, strict=True):
        into = data[offset : offset + tensor.nbytes]
        into.view(tensor.dtype).view(tensor.shape).copy_(tensor)
    return rows, data


def unpack(rows, data, device):
    """The inverse of pack: tensors by name; on the CPU they lie in `data`."""
    return {
        name: view(data, offset, dtype_of(code), shape).to(device)
        for name, code, shape, offset in rows
    }


def numbered(values, name):
    """Those that pack was given as "<name 0>", "<name 1>", …"""
    found = []
    while f"<{name} {len(found)}>" in values:
        found.append(values[f"<{name} {len(found)}>"])
    return found


def view(memory, offset, dtype, shape):
    """A tensor over shared memory."""
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype, count=count, offset=offset).view(shape)
