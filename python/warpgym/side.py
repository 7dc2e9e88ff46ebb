"""The far side of the fence for PyTorch: one boxed process, one module, calls when told.

The same program serves the reference (Model, and the inputs it makes) and the candidate (ModelNew).
In the candidate's process nothing here is trusted by the judge: outputs are read from outside,
while the process is frozen, and the clock is the judge's.
"""

import copy
import importlib.util
import json
import linecache
import mmap
import os
import sys
import time
import traceback

import torch

from . import extension, structure, wire

ORACLE_ELEMENTS = 50_000_000  # inputs beyond this are not recomputed in double precision


class Failure(Exception):
    """Ends the side; carries what the judge is told."""

    def __init__(self, failure, text):
        super().__init__(text)
        self.failure = failure


def _read(descriptor):
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        return file.read()


def _scratch_file(name, data):
    """A descriptor of a nameless file in scratch; the judge makes its own copy of it."""
    with open(name, "wb") as file:
        file.write(data)
    descriptor = os.open(name, os.O_RDONLY)
    os.unlink(name)
    return descriptor


def _explain(error, file_name):
    """The candidate's own frames and the message, without ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.endswith(file_name)]
    lines = "".join(traceback.format_exception_only(type(error), error)).strip()
    places = [
        f"{file_name}:{frame.lineno}: in {frame.name}: {frame.line or ''}".rstrip() for frame in own
    ]
    return "\n".join([lines] + places[-8:])


def _failure_of(error, default, file_name):
    text = _explain(error, file_name)
    if isinstance(error, MemoryError) or "DefaultCPUAllocator: can't allocate" in text:
        return Failure(wire.FAILED_MEMORY, text)
    if isinstance(error, extension.Unsupported):
        return Failure(wire.FAILED_UNSUPPORTED, str(error))
    if isinstance(error, extension.CompileFailed):
        return Failure(wire.FAILED_COMPILE, str(error))
    if isinstance(error, SyntaxError):
        return Failure(
            wire.FAILED_COMPILE, f"{file_name}:{error.lineno}: {error.msg}: {error.text or ''}"
        )
    if "CUDA" in text and "Torch not compiled with CUDA enabled" in text:
        return Failure(wire.FAILED_UNSUPPORTED, "it needs CUDA, and this machine has no GPU")
    return Failure(default, text)


class Side:
    """State of one boxed process."""

    def __init__(self, channel):
        self.channel = channel
        self.file_name = "candidate.py"
        self.model = None
        self.wide_model = None
        self.inputs = []
        self.layout_offsets = []
        self.description = {}
        self.module = None
        self.memory = None
        self.outputs = None
        self.tensors = []

    # --- opening ---------------------------------------------------------------------------------

    def _import(self, source):
        path = os.path.join(os.getcwd(), self.file_name)
        with open(path, "wb") as file:
            file.write(source)
        linecache.checkcache(path)
        name = self.file_name.removesuffix(".py")
        spec = importlib.util.spec_from_file_location(name, path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.module
        spec.loader.exec_module(self.module)

    def _attribute(self, name):
        value = getattr(self.module, name, None)
        if value is None:
            raise Failure(
                wire.FAILED_LOAD,
                f"{self.file_name} defines no {name}",
            )
        return value

    def open_reference(self, source, weight_seed):
        self.file_name = "problem.py"
        self._import(source)
        torch.manual_seed(weight_seed)
        init_tensors = []
        init_inputs = self._attribute("get_init_inputs")()
        init = structure.take_apart(list(init_inputs), init_tensors)
        torch.manual_seed(weight_seed)
        self.model = self._attribute("Model")(*init_inputs)
        example = self._attribute("get_inputs")()
        tensors = []
        inputs = structure.take_apart(list(example), tensors)
        if len(tensors) > wire.ARGUMENTS:
            raise Failure(wire.FAILED_LOAD, f"get_inputs returns {len(tensors)} tensors")
        offsets, slot_bytes = structure.place(tensors, wire.GUARD_BYTES)
        self.description = {
            "inputs": inputs,
            "shapes": [list(tensor.shape) for tensor in tensors],
            "init": init,
        }
        weights = self._weights(init_tensors)
        self.description["parameters"] = len(self._parameters(self.model))
        oracle = self._make_oracle(example, tensors)
        head = wire.HEAD.pack(wire.OPENED, self.layers)
        layout = wire.layout(
            [
                (structure.CODES[tensor.dtype], offset, tensor.numel())
                for tensor, offset in zip(tensors, offsets, strict=True)
            ],
            slot_bytes,
        )
        text = json.dumps(self.description).encode()
        descriptors = [_scratch_file("description", text)]
        if weights:
            descriptors.append(_scratch_file("weights", weights))
        self.channel.send(head + layout + wire.HEAD.pack(int(oracle), 0), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    @staticmethod
    def _parameters(model):
        return list(model.parameters()) if isinstance(model, torch.nn.Module) else []

    def _weights(self, init_tensors):
        """Values that the candidate is given: the constructor's tensors, parameters, buffers."""
        state = self.model.state_dict() if isinstance(self.model, torch.nn.Module) else {}
        named = [(f"<init {i}>", tensor) for i, tensor in enumerate(init_tensors)]
        named += [(name, tensor) for name, tensor in state.items() if tensor.numel() > 0]
        named = [(name, tensor.detach().contiguous()) for name, tensor in named]
        offsets, total = structure.place([tensor for _, tensor in named], 0)
        self.description["weights"] = [
            [name, structure.CODES[tensor.dtype], list(tensor.shape), offset]
            for (name, tensor), offset in zip(named, offsets, strict=True)
        ]
        if not named:
            return b""
        data = bytearray(total)
        for (_, tensor), offset in zip(named, offsets, strict=True):
            structure.view(data, offset, tensor.dtype, tensor.shape).copy_(tensor)
        return bytes(data)

    def _make_oracle(self, example, tensors):
        """A copy of the model at double precision, where the model can be run so."""
        if sum(tensor.numel() for tensor in tensors) > ORACLE_ELEMENTS:
            return False
        if not any(tensor.is_floating_point() for tensor in tensors):
            return False
        try:
            self.wide_model = copy.deepcopy(self.model).double()
            with torch.no_grad():
                outputs = structure.flatten(self.wide_model(*self._widen(example)))
                plain = structure.flatten(self.model(*example))
        except Exception:  # noqa: BLE001 - any failure means: no oracle for this problem
            self.wide_model = None
            return False
        return len(outputs) == len(plain) and all(
            wide.dtype == (torch.float64 if narrow.is_floating_point() else narrow.dtype)
            for wide, narrow in zip(outputs, plain, strict=True)
        )

    @staticmethod
    def _widen(value):
        if isinstance(value, torch.Tensor):
            return value.double() if value.is_floating_point() else value
        if isinstance(value, (list, tuple)):
            return type(value)(Side._widen(item) for item in value)
        if isinstance(value, dict):
            return {key: Side._widen(item) for key, item in value.items()}
        return value

    def open_candidate(self, source, weight_seed, description, weights):
        self.description = json.loads(description)
        extension.install(self.channel)
        data = bytearray(weights)
        values = {
            name: structure.view(data, offset, structure.DTYPES[code], shape).clone()
            for name, code, shape, offset in self.description["weights"]
        }
        init_tensors = []
        while f"<init {len(init_tensors)}>" in values:
            init_tensors.append(values[f"<init {len(init_tensors)}>"])
        init_inputs = structure.put_together(self.description["init"], init_tensors)
        torch.manual_seed(weight_seed)
        self._import(source)
        make = self._attribute("ModelNew")
        torch.manual_seed(weight_seed)
        self.model = make(*init_inputs)
        if not callable(self.model):
            raise Failure(wire.FAILED_LOAD, "ModelNew(...) cannot be called")
        state = self.model.state_dict() if isinstance(self.model, torch.nn.Module) else {}
        with torch.no_grad():
            for name, tensor in state.items():
                value = values.get(name)
                if value is not None and value.shape == tensor.shape:
                    tensor.copy_(value)
        self.channel.send(
            wire.HEAD.pack(wire.OPENED, self.layers)
            + wire.layout([], 0)
            + wire.HEAD.pack(0, 0)
        )

    # --- calls -----------------------------------------------------------------------------------

    def map(self, message, descriptors):
        count, _, _ = wire.LAYOUT_HEAD.unpack_from(message, wire.HEAD.size)
        if descriptors:
            self.memory = mmap.mmap(
                descriptors[0],
                os.fstat(descriptors[0]).st_size,
                flags=mmap.MAP_SHARED | mmap.MAP_POPULATE,
                prot=mmap.PROT_READ | mmap.PROT_WRITE,
            )
        at = wire.HEAD.size + wire.LAYOUT_HEAD.size
        self.tensors = []
        for index in range(count):
            place = at + index * wire.ARGUMENT.size
            _, dtype, offset, *_ = wire.ARGUMENT.unpack_from(message, place)
            shape = self.description["shapes"][index]
            self.tensors.append(
                structure.view(self.memory, offset, structure.DTYPES[dtype], shape)
            )
        self.inputs = structure.put_together(self.description["inputs"], self.tensors)
        self.channel.send(wire.HEAD.pack(wire.MAPPED, 0))

    def fill(self, seed):
        torch.manual_seed(seed % (1 << 63))
        tensors = []
        structure.take_apart(list(self.module.get_inputs()), tensors)
        if len(tensors) != len(self.tensors):
            raise Failure(wire.FAILED_RUN, "get_inputs returned another number of tensors")
        for mine, made in zip(self.tensors, tensors, strict=True):
            if mine.shape != made.shape or mine.dtype != made.dtype:
                raise Failure(wire.FAILED_RUN, "get_inputs returned other shapes than before")
            mine.copy_(made)
        self.channel.send(wire.HEAD.pack(wire.FILLED, 0))

    def call(self, mode, noise):
        torch.manual_seed(noise % (1 << 63))
        start_ns = time.monotonic_ns()
        if mode == wire.DOUBLE:
            result = self.wide_model(*self._widen(self.inputs))
        elif mode == wire.WITHOUT:
            model = copy.deepcopy(self.model)
            self._parameters(model)[noise].zero_()
            result = model(*self.inputs)
        elif mode == wire.ABLATE:
            with ablated():
                result = self.model(*self.inputs)
        else:
            result = self.model(*self.inputs)
        self.answer(result, start_ns)

    def answer(self, result, start_ns):
        outputs = [tensor.contiguous() for tensor in structure.flatten(result)]
        own_ns = time.monotonic_ns() - start_ns
        if len(outputs) > wire.OUTPUTS:
            raise Failure(wire.FAILED_RUN, f"forward returned {len(outputs)} tensors")
        described = []
        for tensor in outputs:
            if tensor.device.type != "cpu" or tensor.dtype not in structure.CODES:
                raise Failure(
                    wire.FAILED_RUN,
                    f"forward returned a tensor of {tensor.dtype} on {tensor.device}",
                )
            described.append(
                (
                    tensor.data_ptr(),
                    tensor.numel() * tensor.element_size(),
                    structure.CODES[tensor.dtype],
                    tuple(tensor.shape),
                )
            )
        self.outputs = outputs  # alive until the next call: the judge reads them from outside
        self.channel.send(wire.done(described, own_ns))


def _copy(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


class ablated:
    """Triton kernels have no effect inside it: each works on copies of its arguments. They still
    run, so that one which fails goes on failing, and a fallback behind it goes on being taken."""

    def __enter__(self):
        from triton.runtime import interpreter

        self.executor = interpreter.GridExecutor
        self.kept = self.executor.__call__
        kept = self.kept
        self.executor.__call__ = lambda executor, *arguments, **keywords: kept(
            executor,
            *[_copy(value) for value in arguments],
            **{name: _copy(value) for name, value in keywords.items()},
        )

    def __exit__(self, *_):
        self.executor.__call__ = self.kept


def serve(channel, layers, lock):
    """Serves one judge until the channel closes. `lock` closes the box; returns its layers."""
    side = Side(channel)
    side.layers = layers
    stage = wire.FAILED_LOAD
    with torch.no_grad():
        while True:
            message, descriptors = channel.receive()
            if not message:
                return
            kind = wire.HEAD.unpack_from(message)[0]
            try:
                if kind == wire.CALL:
                    stage = wire.FAILED_RUN
                    _, mode, noise = wire.CALL_BODY.unpack_from(message)
                    side.call(mode, noise)
                elif kind == wire.FILL:
                    side.fill(wire.FILL_BODY.unpack_from(message)[2])
                elif kind == wire.MAP:
                    side.map(message, descriptors)
                elif kind == wire.OPEN:
                    _, role, seed, threads, _ = wire.OPEN_BODY.unpack_from(message)
                    torch.set_num_threads(threads)
                    texts = [_read(descriptor) for descriptor in descriptors]
                    descriptors = []
                    side.layers = lock()
                    if role == wire.REFERENCE:
                        side.open_reference(texts[0], seed)
                    else:
                        side.open_candidate(
                            texts[0], seed, texts[1], texts[2] if len(texts) > 2 else b""
                        )
            except Failure as failure:
                channel.send(wire.failed(failure.failure, str(failure)))
                return
            except BaseException as error:  # noqa: BLE001 - whatever a candidate raises, exit() too
                failure = _failure_of(error, stage, side.file_name)
                channel.send(wire.failed(failure.failure, str(failure)))
                return
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
