"""Arrays of trainers as the library takes them: NumPy's and PyTorch's, padded or row after row.

Nothing is copied that has the library's type and lies in one piece: 64-bit numbers and integers for
rows, 32-bit floats for log-probabilities, bytes or booleans for masks.
"""

import ctypes
import sys

import numpy as np

IDS_MOST = 2**32 - 1


def _torch():
    return sys.modules.get("torch")


def is_tensor(value):
    torch = _torch()
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value, name):
    if not is_tensor(value):
        try:
            return np.asarray(value)
        except ValueError as error:
            raise ValueError(f"{name} is no array: its rows differ in length") from error
    torch = _torch()
    tensor = value.detach()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return tensor.cpu().numpy()


class Giver:
    """Gives results as the arguments came: tensors on their device if any was one, else NumPy's."""

    def __init__(self, *values):
        flat = [one for value in values for one in (value if _is_list(value) else [value])]
        self.device = next((value.device for value in flat if is_tensor(value)), None)

    def __call__(self, array):
        if self.device is None:
            return array
        torch = _torch()
        if array.dtype == np.uint32:
            array = array.astype(np.int64)
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def _is_list(value):
    return isinstance(value, list | tuple)


def pointer(array, kind):
    return array.ctypes.data_as(kind) if array is not None else ctypes.cast(None, kind)


def _shaped(array, name, rows):
    if array.ndim != 1:
        raise ValueError(
            f"{name} has the shape {list(array.shape)}; it must have one value for each row"
        )
    if rows is not None and len(array) != rows:
        raise ValueError(f"{name} has {len(array)} rows, but rewards has {rows}")
    return array


def row_numbers(value, name, rows=None):
    """[rows] of doubles; None among them is NaN. None: not given."""
    if value is None:
        return None
    array = _shaped(to_numpy(value, name), name, rows)
    try:
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something that is no number") from error


def row_flags(value, name, rows):
    if value is None:
        return None
    array = _shaped(to_numpy(value, name), name, rows)
    return _flags(array, name)


def _flags(array, name):
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).view(np.uint8)
    if array.dtype.kind not in "iuf" or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must hold true and false, or 1 and 0")
    return np.ascontiguousarray(array, dtype=np.uint8)


def row_ids(value, name, rows, any_kind=True):
    """[rows] of numbers that the library takes. Texts, and integers outside its range, are numbered
    as they appear."""
    if value is None:
        return None
    array = _shaped(to_numpy(value, name), name, rows)
    if array.dtype.kind in "iu":
        if len(array) == 0 or (array.min() >= 0 and array.max() <= IDS_MOST):
            return np.ascontiguousarray(array, dtype=np.int64)
        if not any_kind:
            raise ValueError(f"{name} must be from 0 to {IDS_MOST}")
    elif not any_kind or array.dtype.kind not in "OUS":
        kinds = "integers or texts" if any_kind else "integers"
        raise ValueError(f"{name} must hold {kinds}, not {array.dtype}")
    try:
        _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"{name} mixes kinds of values; give integers or texts") from error
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)


class Layout:
    """Which tokens are whose: padded ([rows, width]), one flat array with offsets, or a list of
    rows."""

    def __init__(self, rows, offsets):
        self.rows = rows
        self.lists = False
        self.shape = None  # of the first array of tokens
        self.first = None
        self.offsets = None
        if offsets is not None:
            self.offsets = row_ids(offsets, "offsets", None, any_kind=False)
            if len(self.offsets) != rows + 1:
                raise ValueError(
                    f"offsets has {len(self.offsets)} values; {rows} rows need {rows + 1}"
                )

    @property
    def tokens(self):
        return int(np.prod(self.shape)) if self.shape else 0

    def _lay(self, value, name):
        if not _is_list(value):
            return to_numpy(value, name)
        rows = [to_numpy(row, name) for row in value]
        if any(row.ndim != 1 for row in rows):
            raise ValueError(f"{name} must be a list of rows, each a list of its tokens' values")
        ends = np.cumsum([0] + [len(row) for row in rows], dtype=np.int64)
        if self.offsets is None:
            self.lists, self.offsets = True, ends
        if len(rows) != self.rows or not np.array_equal(ends, self.offsets):
            raise ValueError(f"{name} has other numbers of tokens than its rows ({self.first})")
        return np.concatenate(rows) if rows else np.zeros(0)

    def _check(self, array, name):
        if self.shape is None:
            self.shape, self.first = array.shape, name
            self._check_first(array, name)
        if array.shape != self.shape:
            raise ValueError(
                f"{name} has the shape {list(array.shape)}, but {self.first} has {list(self.shape)}"
            )
        return array

    def _check_first(self, array, name):
        if array.ndim == 2 and self.offsets is None:
            if array.shape[0] != self.rows:
                raise ValueError(f"{name} has {array.shape[0]} rows, but rewards has {self.rows}")
        elif array.ndim != 1 or self.offsets is None:
            raise ValueError(
                f"{name} has the shape {list(array.shape)}; give [rows, tokens], a list of rows, "
                "or one flat array with offsets"
            )

    def floats(self, value, name):
        if value is None:
            return None
        array = self._check(self._lay(value, name), name)
        if array.dtype.kind not in "iuf":
            raise ValueError(f"{name} holds something that is no number")
        return np.ascontiguousarray(array, dtype=np.float32)

    def flags(self, value, name):
        if value is None:
            return None
        return _flags(self._check(self._lay(value, name), name), name)

    def empty(self, dtype):
        return np.zeros(self.shape if self.shape else 0, dtype=dtype)

    def split(self, array, give):
        """A result as the arguments lay."""
        if self.lists:
            return [give(row) for row in np.split(array, self.offsets[1:-1])]
        return give(array)
