"""The child program for PyTorch: one sandboxed process, one module, one call for each CALL.

The same program serves the reference (Model, and the inputs it makes) and the candidate (ModelNew).
In the candidate's process nothing here is trusted by the judge: outputs are read from outside,
while the process is frozen, and the clock is the judge's.
"""

import contextlib
import copy
import json
import mmap
import os
import time
import traceback

import torch

from . import (
    ablation,
    calls,
    cases,
    choices,
    drawn,
    extension,
    gpu,
    promises,
    rounding,
    structure,
    texts,
    triton_build,
    wire,
)
from .carried import Carried, without
from .stopwatch import stopwatch

ORACLE_ELEMENTS = 50_000_000  # inputs beyond this are not recomputed in double precision
ORACLE_COPIES = 8  # of the inputs at double precision that must fit into a GPU's memory
ROUNDING_S = 4.0  # of a call that measures the noise of its slots
SLOT_STEP = 0x9E3779B97F4A7C15  # between the seeds of two slots
GRAPH_MODES = ("reduce-overhead", "max-autotune")  # of torch.compile: with CUDA graphs
GRAPH_CALLS = 3
CAUSES, CAUSE_CHARACTERS = 3, 500
SPARE_BYTES = 1 << 26  # of inputs; laying out more leaves nothing else in the caches
LACKS_MEMORY = (  # errors without a class of their own: of a CPU, the driver and its libraries
    "DefaultCPUAllocator: can't allocate",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


class Failure(Exception):
    """Ends the child; carries what it reports to the judge."""

    def __init__(self, failure, text):
        super().__init__(text)
        self.failure = failure


def _mapped(descriptor):
    """What the judge sent: pages that are written to become this process's own."""
    if os.fstat(descriptor).st_size == 0:
        return b""
    return mmap.mmap(descriptor, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)


def _explain(error, file_name):
    """The candidate's own frames and the message, without ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.endswith(file_name)]
    places = [
        f"{file_name}:{frame.lineno}: in {frame.name}: {frame.line or ''}".rstrip() for frame in own
    ]
    return "\n".join([_words(error), *places[-8:]])


def _words(error):
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _behind(error):
    """What it was raised in answer to: a capture that fails says nothing of what it captured."""
    for _ in range(CAUSES):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if error is None:
            return
        yield f"behind it: {_words(error)[:CAUSE_CHARACTERS]}"


def _failure_of(error, default, file_name):
    text = _explain(error, file_name)
    full = any(words in text for words in LACKS_MEMORY)
    if full or isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return Failure(wire.FAILED_MEMORY, text)
    if isinstance(error, (extension.Unsupported, gpu.Unavailable)):
        return Failure(wire.FAILED_UNSUPPORTED, str(error))
    if isinstance(error, structure.Unsupported):
        return Failure(wire.FAILED_PROBLEM, str(error))
    if isinstance(error, extension.CompileFailed):
        return Failure(wire.FAILED_COMPILE, str(error))
    if type(error).__name__ in ("CompilationError", "PTXASError"):  # Triton's
        return Failure(wire.FAILED_COMPILE, text)
    if isinstance(error, SyntaxError):
        return Failure(
            wire.FAILED_COMPILE, f"{file_name}:{error.lineno}: {error.msg}: {error.text or ''}"
        )
    if "InvalidCxxCompiler" in text:
        return Failure(wire.FAILED_NO_COMPILER, text)
    if "CUDA" in text and "Torch not compiled with CUDA enabled" in text:
        return Failure(wire.FAILED_NO_GPU, text)
    return Failure(default, "\n".join([text, *_behind(error)]))


class Child:
    """State of one sandboxed process."""

    def __init__(self, channel, open_gpu=None, library=None):
        self.channel = channel
        self.open_gpu = open_gpu
        self.library = library
        self.calls = None  # made before anything of a candidate's runs
        self.device = gpu.Cpu()
        self.precision = None
        self.compile_mode = ""
        self.carried = Carried()
        self.entry_point = "Model"
        self.weight_seed = 0
        self.oracle = wire.ORACLE_OR_NONE
        self.get_inputs = None
        self.cases = 0  # of a simple problem, that a call takes; 0: all
        self.file_name = "candidate.py"
        self.model = None
        self.eager = None  # the reference, not compiled
        self.convolves = False  # perhaps in TF32
        self.wide_model = None
        self.noise = None  # of each output: rounding.allowance
        self.inputs = []  # of each slot
        self.description = {}
        self.module = None
        self.memory = None
        self.opened = ()  # what the judge reads from outside, until it says something
        self.outputs = None
        self.next_bytes = 0  # of outputs that FILL has released
        self.arguments = ()  # the same, as calls are made
        self.tensors = []  # of each slot
        self.promised = None  # promises.look: of each tensor, names
        self.others = None  # and which random numbers of get_inputs can be others
        self.extended = ()  # and whether its elements are extended instead
        self.bears_seeds = True  # get_inputs, others than its own
        self.spares = []  # what they held before the last FILL, for warm-ups

    # --- opening ---------------------------------------------------------------------------------

    def warm(self, uuid, queues):
        """Opens the GPU, where there is one; once. The driver reads the environment then."""
        uuid = uuid.rstrip(b"\0").decode()
        if uuid and isinstance(self.device, gpu.Cpu):
            os.environ["CUDA_VISIBLE_DEVICES"] = uuid
            os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = str(queues)
            os.environ["CUDA_DEVICE_MAX_COPY_CONNECTIONS"] = "1"
            self.device = self.open_gpu(self.channel.socket.fileno())

    def set_precision(self, code):
        """As the judge has it: 0 for none, a type's place among all, or TF32 behind them."""
        if code > len(structure.DTYPES):
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
            self.precision = torch.float32
        else:
            self.precision = structure.DTYPES[code - 1] if code else None

    def prepare_calls(self):
        if self.library:
            self.calls = calls.Calls(self.library, self.channel.socket.fileno(), self.device)

    def _place(self, value):
        """On the device, at the precision asked for."""
        if isinstance(value, torch.Tensor):
            precise = self.precision and value.is_floating_point()
            return value.to(self.device.name, self.precision if precise else value.dtype)
        if isinstance(value, torch.nn.Module):
            return value.to(device=self.device.name, dtype=self.precision)
        if isinstance(value, (list, tuple)):
            return type(value)(self._place(item) for item in value)
        if isinstance(value, dict):
            return {key: self._place(item) for key, item in value.items()}
        return value

    def _make(self, make):
        """Inputs are made where they are used."""
        with torch.device(self.device.name):
            return self._place(make())

    def _build(self, make, *arguments):
        """A model, or what it is constructed from, is made on the CPU and moved, as KernelBench
        does it: one generator draws all weights, in the order of the text."""
        torch.manual_seed(self.weight_seed)
        return self._place(make(*arguments))

    def _attribute(self, name):
        value = getattr(self.module, name, None)
        if value is None:
            raise Failure(
                wire.FAILED_LOAD,
                f"{self.file_name} defines no {name}",
            )
        return value

    def open_reference(self, source):
        self.file_name = "problem.py"
        self.module = texts.load(self.file_name, source)
        with contextlib.suppress(ValueError, RecursionError):  # it borrows nothing
            self.description["lent"] = texts.lent(bytes(source), self.module, self.entry_point)
        init_tensors = []
        init_inputs = self._build(self._attribute("get_init_inputs"))
        init = structure.take_apart(list(init_inputs), init_tensors)
        self.model = self._build(self._attribute(self.entry_point), *init_inputs)
        self._attribute("get_inputs")
        self.get_inputs = self._problem_inputs
        self._open_reference(init, init_tensors)

    def _stand_in_inputs(self):
        """Of a candidate, which is given its inputs: as many, of the same forms."""
        return [torch.randn(like.shape).to(like.dtype) for like in self.tensors[0]]

    def _problem_inputs(self):
        return self.module.get_inputs()

    def open_answers(self, description, values):
        """The reference of a simple problem: what its cases expect, and no line of their text."""
        described = json.loads(bytes(description))
        values = structure.unpack(described["values"], values, self.device.name)
        made = cases.put_together(described["cases"], values)
        self.model = cases.Answers(made)
        self.get_inputs = lambda: [case.inputs for case in made[: self.cases or None]]
        self.description["cases"] = [case.public for case in made]
        self._open_reference(described["init"], structure.numbered(values, "init"))

    def open_cases(self, source, compared):
        """Makes them, and is not called: whatever their text did to this process ends with it."""
        self.file_name = "candidate.py"
        extension.install(self.channel)
        triton_build.install(self.channel)
        self.module = texts.load(self.file_name, source)
        get_init_inputs = getattr(self.module, "get_init_inputs", None)
        init_tensors = []
        init_inputs = list(self._build(get_init_inputs)) if get_init_inputs else []
        init = structure.take_apart(init_inputs, init_tensors)
        described, named = cases.take_apart(self._make(lambda: cases.read(self.module)), compared)
        named += [(f"<init {i}>", tensor) for i, tensor in enumerate(init_tensors)]
        rows, data = structure.pack(named)
        text = json.dumps({"init": init, "cases": described, "values": rows}).encode()
        self._send_opened(wire.layout([], 0), False, text, data)

    def _meta_model(self):
        return self._attribute(self.entry_point)(*self._attribute("get_init_inputs")())

    def open_sizes(self, source):
        """What a reference's inputs and weights take, without making them. A constructor may need
        values: then its weights are not known."""
        self.file_name = "problem.py"
        self.module = texts.load(self.file_name, source)
        self.device = gpu.Meta()
        inputs, weight_bytes = [], 0
        with gpu.Formed():
            structure.take_apart(list(self._make(self._attribute("get_inputs"))), inputs)
            _, slot_bytes = structure.place(inputs, wire.GUARD_BYTES)
            with contextlib.suppress(Exception):
                state = self._make(self._meta_model).state_dict()
                weight_bytes = sum(tensor.nbytes for tensor in state.values())
        layout = wire.layout([], slot_bytes)
        self.channel.send(wire.opened(layout, weight_bytes=weight_bytes))

    def _open_reference(self, init, init_tensors):
        example = self._make(self.get_inputs)
        tensors = []
        inputs = structure.take_apart(list(example), tensors)
        if len(tensors) > wire.ARGUMENTS:
            raise structure.Unsupported(f"get_inputs returns {len(tensors)} tensors")
        offsets, slot_bytes = structure.place(tensors, wire.GUARD_BYTES)
        self.description |= {
            "inputs": inputs,
            "shapes": [list(tensor.shape) for tensor in tensors],
            "dtypes": [structure.code_of(tensor) for tensor in tensors],
            "init": init,
        }
        weights = self._weights(init_tensors)
        self.description["parameters"] = len(self._parameters(self.model))
        self.description["carried"] = self.carried.find(
            self.model, lambda: rounding.run(self.model, structure.copied(example))
        )
        self.eager = self.model
        oracle = self._make_oracle(example, tensors)
        if self.compile_mode:
            self._compile(example)
        if self.calls and self.device.runs_ahead(lambda: self.model(*example)):
            self.calls.run_ahead()
        layout = wire.layout(
            [
                (
                    structure.CODES[tensor.dtype] & ~structure.COMPLEX,
                    offset,
                    tensor.numel() * (2 if tensor.is_complex() else 1),
                )
                for tensor, offset in zip(tensors, offsets, strict=True)
            ],
            slot_bytes,
        )
        self._send_opened(layout, oracle, json.dumps(self.description).encode(), weights)

    def _send_opened(self, layout, oracle, description, values):
        self.opened = torch.frombuffer(bytearray(description), dtype=torch.uint8), values
        places = [place for data in self.opened for place in (data.data_ptr(), data.numel())]
        self.channel.send(wire.opened(layout, oracle, places))

    def _compile(self, example):
        """In a mode with CUDA graphs the next call would overwrite this one's outputs: an answer
        has to outlive that, so copying it is part of the call."""
        triton_build.install(self.channel)
        compiled = torch.compile(self.model, mode=self.compile_mode)
        if self.compile_mode in GRAPH_MODES:
            self.model = lambda *inputs: structure.copied(compiled(*inputs))
        else:
            self.model = compiled
        with torch.no_grad():
            for _ in range(GRAPH_CALLS):  # the first compiles, the second records a graph
                self.model(*example)

    @staticmethod
    def _parameters(model):
        return list(model.parameters()) if isinstance(model, torch.nn.Module) else []

    def _weights(self, init_tensors):
        """Values that the candidate is given: the constructor's tensors, parameters, buffers."""
        state = self.model.state_dict() if isinstance(self.model, torch.nn.Module) else {}
        named = [(f"<init {i}>", tensor) for i, tensor in enumerate(init_tensors)]
        named += [(name, tensor) for name, tensor in state.items() if tensor.numel() > 0]
        self.description["weights"], data = structure.pack(named)
        return data

    def _oracle_elements(self):
        if isinstance(self.device, gpu.Cpu):
            return ORACLE_ELEMENTS
        _, total = torch.cuda.mem_get_info()
        return total // (8 * ORACLE_COPIES)

    def _make_oracle(self, example, tensors):
        """A copy of the model at double precision, where the model can be run so."""
        elements = sum(tensor.numel() for tensor in tensors)
        if self.oracle == wire.NO_ORACLE or elements > self._oracle_elements():
            return False
        if not any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors):
            return False
        try:
            self.wide_model = copy.deepcopy(self.model)._apply(structure.wide)
            self.carried.add(self.wide_model, self.description["carried"])
            with torch.no_grad():
                convolutions = rounding.Tf32() if self._may_convolve_in_tf32() else None
                outputs, plain, noise = self._measure(example, convolutions)
                self.convolves = convolutions is not None and convolutions.seen
            self.noise = torch.tensor(noise, dtype=torch.float64, device=self.device.name)
            torch.cuda.empty_cache()  # on a CPU it does nothing
        except Exception as error:  # noqa: BLE001 - any failure means: no oracle for this problem
            self.wide_model = None
            if self._may_be_crowded(error):
                raise
            return False
        return len(outputs) == len(plain) < wire.OUTPUTS and all(
            wide.dtype == structure.wide(narrow).dtype
            for wide, narrow in zip(outputs, plain, strict=True)
        )

    def _may_convolve_in_tf32(self):
        """PyTorch's default: cuDNN chooses by layout and sizes, in the reference as elsewhere."""
        plain = self.precision in (None, torch.float32) and torch.backends.cudnn.allow_tf32
        return plain and not isinstance(self.device, gpu.Cpu)

    def _may_be_crowded(self, error):
        """What others have of the memory now decides nothing."""
        return self.oracle == wire.ORACLE and isinstance(error, torch.OutOfMemoryError)

    def _noise_on(self, inputs):
        if not self.convolves:
            return self.noise
        try:
            errors = [*rounding.tf32_errors(self.eager, inputs), 0.0]  # the bound is no output
        except Exception as error:  # noqa: BLE001 - an operation that bears none of it
            if self._may_be_crowded(error):
                raise
            return self.noise
        return torch.maximum(self.noise, self.noise.new_tensor(errors))

    def _measure(self, inputs, mode=None):
        """Outputs at double precision and without it, and what rounding explains of these."""
        models, both = (self.wide_model, self.eager), (structure.widened(inputs), inputs)
        return rounding.measure(models, both, self.device.kind, self.carried.put_back, mode)

    def _rounding(self):
        """The noise on the inputs of each slot, of as many as there is time for."""
        seconds = stopwatch(self.device.kind)

        def measure(*inputs):
            noise = torch.zeros_like(self.noise)
            if seconds() < ROUNDING_S:
                with contextlib.suppress(Exception):  # no memory for it
                    noise = self.noise.new_tensor(self._measure(structure.copied(inputs))[-1])
                torch.cuda.empty_cache()
            return [noise]

        return measure

    def open_candidate(self, source, description, weights):
        self.description = json.loads(bytes(description))
        self.get_inputs = self._stand_in_inputs
        extension.install(self.channel)
        triton_build.install(self.channel)
        values = structure.unpack(self.description["weights"], weights, "cpu")
        init_inputs = structure.put_together(
            self.description["init"], self._place(structure.numbered(values, "init"))
        )
        self.device.before_candidate()
        self.module = texts.load(self.file_name, source, self.description.pop("lent", None))
        with drawn.Drawn(values) as drawing:
            self.model = self._build(self._attribute(self.entry_point), *init_inputs)
        if not callable(self.model):
            raise Failure(wire.FAILED_LOAD, f"{self.entry_point}(...) cannot be called")
        if isinstance(self.model, torch.nn.Module):
            self._copy_weights(values, drawing.named(self.model))
        self.carried.add(self.model, self.description.get("carried", ()))
        if "cases" in self.description:
            self.model = cases.Runner(self.model, self.description["cases"], self.device.name)
        self.channel.send(wire.opened(wire.layout([], 0)))

    def _copy_weights(self, values, own):
        """Those of the same name, but for its `own`."""
        with torch.no_grad():
            for name, tensor in self.model.state_dict().items():
                value = values.get(name)
                if value is not None and value.shape == tensor.shape and name not in own:
                    tensor.copy_(value)

    # --- calls -----------------------------------------------------------------------------------

    def _map_memory(self, message, descriptors):
        slot_bytes, _, gpu_bytes = wire.MAP_TAIL.unpack_from(
            message, wire.HEAD.size + wire.LAYOUT_HEAD.size + wire.ARGUMENTS * wire.ARGUMENT.size
        )
        if gpu_bytes:
            self.memory = self.device.library.segments_map(descriptors[0], gpu_bytes)
            if self.memory == 0:
                raise Failure(wire.FAILED_MEMORY, "the arguments do not fit into the GPU's memory")
        else:
            self.memory = mmap.mmap(
                descriptors[0],
                slot_bytes,
                flags=mmap.MAP_SHARED | mmap.MAP_POPULATE,
                prot=mmap.PROT_READ | mmap.PROT_WRITE,
            )

    def map(self, message, descriptors):
        _, slots = wire.HEAD.unpack_from(message)
        count, self.cases, slot_bytes = wire.LAYOUT_HEAD.unpack_from(message, wire.HEAD.size)
        self.inputs = self.arguments = self.tensors = self.outputs = None
        self.next_bytes = 0
        if descriptors:
            self._map_memory(message, descriptors)
        at = wire.HEAD.size + wire.LAYOUT_HEAD.size
        places = [
            wire.ARGUMENT.unpack_from(message, at + index * wire.ARGUMENT.size)
            for index in range(count)
        ]
        self.tensors = [
            [
                self.device.map(
                    self.memory, slot * slot_bytes + offset, structure.dtype_of(code), shape
                )
                for (_, _, offset, *_), code, shape in zip(
                    places,
                    self.description["dtypes"][:count],
                    self.description["shapes"][:count],
                    strict=True,
                )
            ]
            for slot in range(slots)
        ]
        described = self.description["inputs"]
        if self.cases:
            described = {"list": described["list"][: self.cases]}
        self.inputs = [structure.put_together(described, tensors) for tensors in self.tensors]
        self.arguments = tuple(tuple(inputs) for inputs in self.inputs)
        self.spares = self._make_spares()
        self.channel.send(wire.HEAD.pack(wire.MAPPED, 0))

    def _drawn(self, slot):
        """What get_inputs returns, each tensor with its place in the slot."""
        made = []
        structure.take_apart(list(self._make(self.get_inputs)), made)
        if len(made) != len(slot):
            raise Failure(wire.FAILED_RUN, "get_inputs returned another number of tensors")
        for into, tensor in zip(slot, made, strict=True):
            if into.shape != tensor.shape or into.dtype != tensor.dtype:
                raise Failure(wire.FAILED_RUN, "get_inputs returned other shapes than before")
        return zip(slot, made, strict=True)

    def _draw(self, slot):
        for into, tensor in self._drawn(slot):
            into.copy_(tensor)

    def _seeds(self):
        return promises.other_seeds() if self.bears_seeds else contextlib.nullcontext()

    def _draw_anew(self, slot):
        """By other seeds than a problem's own, which make the same inputs each time, unless shapes
        depend on them."""
        try:
            with self._seeds():
                self._draw(slot)
        except Exception:  # noqa: BLE001 - whatever get_inputs raises where its seed is another
            if not self.bears_seeds:
                raise
            self.bears_seeds = False
            self._draw(slot)

    def _look(self, slot):
        """What the inputs promise, found out before the seed of a FILL is set."""
        self._draw_anew(slot)
        bears_seeds = self.bears_seeds
        on_cpu = isinstance(self.device, gpu.Cpu)
        with contextlib.nullcontext() if on_cpu else gpu.one_thread():
            looked = promises.look(slot, lambda: self._draw_anew(slot))
        self.promised, self.others, self.extended = looked
        self.bears_seeds = bears_seeds

    def _draw_shifted(self, slot):
        largest = torch.rand(()).item() < 0.5
        with promises.Shifted(largest, self.others):
            self._draw_anew(slot)
        for _ in range(promises.DRAWS - 1 if any(self.extended) else 0):
            self._extend(slot, largest)

    def _extend(self, slot, largest):
        with self._seeds():
            drawn = self._drawn(slot)
        for (into, tensor), extended in zip(drawn, self.extended, strict=True):
            if extended:
                promises.extend(into, tensor, largest)

    def _make_spares(self):
        held = [tensor for tensors in self.tensors for tensor in tensors]
        small = sum(tensor.nbytes for tensor in held) <= SPARE_BYTES
        if not small or not isinstance(self.device, gpu.Cpu):
            return []
        return [(tensor, tensor.clone()) for tensor in held]

    def _release_outputs(self):
        """The judge has copies of what was answered, and draws take as much memory again. Small
        ones stay where they are: a cache would see it."""
        if isinstance(self.device, gpu.Cpu) and self._output_bytes() > SPARE_BYTES:
            self.next_bytes, self.outputs = self._output_bytes(), None

    def _output_bytes(self):
        return sum(tensor.nbytes for tensor in self.outputs or [])

    def fill(self, shift, seed):
        self._release_outputs()
        for tensor, spare in self.spares:
            spare.copy_(tensor)
        generators = self.device.generators()
        shifted = range(len(self.tensors)) if shift == wire.SHIFTED else ()
        if shift == wire.ONE_SHIFTED:
            shifted = (seed % len(self.tensors),)
        if shifted and self.promised is None:
            self._look(self.tensors[0])
        for slot, mine in enumerate(self.tensors):
            for generator in generators:  # torch.manual_seed takes longer than many a get_inputs
                generator.manual_seed((seed + slot * SLOT_STEP) % (1 << 63))
            (self._draw_shifted if slot in shifted else self._draw_anew)(mine)
        if not isinstance(self.device, gpu.Cpu):
            self.device.synchronize()
        self.channel.send(wire.HEAD.pack(wire.FILLED, 0))

    def _model_of(self, mode, noise):
        if mode == wire.DOUBLE:
            wide = structure.widened
            return lambda *inputs: [self.wide_model(*wide(inputs)), self._noise_on(inputs)]
        if mode == wire.ROUNDING:
            return self._rounding()
        if mode == wire.NOTHING:
            return lambda *inputs: []
        if mode == wire.CHOICES:
            return lambda *inputs: choices.look(self.eager, inputs)
        if mode == wire.WITHOUT:
            return without(self._parameters(self.eager)[noise], self.eager)
        return self.model

    def _warm_up(self, count):
        """Weights, code and memory come into the caches as a loop of calls leaves them: what else
        a candidate warms is no gain. Inputs are the last call's, at their addresses, where on a GPU
        the judge has put them; it lays out others over them. What a warm-up raises, the call
        raises, too."""
        if not self.spares and isinstance(self.device, gpu.Cpu):
            return
        with contextlib.suppress(Exception):
            for at in range(count):
                for tensor, spare in self.spares:
                    tensor.copy_(spare)
                self.model(*self.inputs[at % len(self.inputs)])

    def wake(self, warm_ups, poison=0):
        """All that a call needs beside its inputs and its seed; then the call, if it comes."""
        output_bytes = self._output_bytes() or self.next_bytes
        self.outputs = None
        self.device.stretch(output_bytes)
        if not self.calls:
            self._warm_up(warm_ups)
            self.channel.send(wire.HEAD.pack(wire.AWAKE, 0))
            return
        with self.calls.memory(poison):
            self._warm_up(warm_ups)
            self.carried.put_back()
            outputs = self.calls.wait(self.model, self.arguments, self._plain)
        if outputs is not None:
            self.outputs = outputs

    def _plain(self, answers):
        outputs = self._hold(answers)
        return outputs, b"".join(self.describe(outputs))

    def call(self, mode, noise, descriptors):
        torch.manual_seed(noise % (1 << 63))
        self.outputs = None
        self.carried.put_back()
        model = self._model_of(mode, noise)
        run = self._run_on_cpu if isinstance(self.device, gpu.Cpu) else self._run_on_gpu
        ablation.leave_out(mode == wire.LEAVE_OUT)
        if mode == wire.ABLATE:
            with ablation.ablated(not isinstance(self.device, gpu.Cpu)):
                answer = run(model)
        elif mode == wire.TRACE:
            with self.device.traced(descriptors[0]):
                answer = run(model)
        elif mode in (wire.RUN, wire.LEAVE_OUT) and self.calls:
            with self.calls.memory():
                answer = run(model)
        else:
            answer = run(model)
        self.answer(*answer)

    def _run_on_cpu(self, model):
        start_ns = time.monotonic_ns()
        outputs = self._hold([model(*inputs) for inputs in self.inputs])
        own_ns = time.monotonic_ns() - start_ns
        return self.describe(outputs), own_ns

    def _run_on_gpu(self, model):
        """The bell first: to make the GPU this process's takes it longer than many a kernel. Own
        time: of all calls at the rate of those after the first quarter, because the first starts
        from nothing, which takes 40 to 200 µs."""
        device = self.device
        calls = len(self.inputs)
        skipped = (calls + 3) // 4 if calls > 1 else 0
        device.wake()
        first = [model(*inputs) for inputs in self.inputs[:skipped]]
        device.marks[0].record()
        rest = [model(*inputs) for inputs in self.inputs[skipped:]]
        outputs = self._hold(first + rest)
        device.marks[1].record()
        described = self.describe(outputs)  # while the GPU works
        device.synchronize()
        ms = device.marks[0].elapsed_time(device.marks[1]) * calls / (calls - skipped)
        return described, int(ms * 1e6)

    @staticmethod
    def _key_of(tensor):
        return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()

    def _hold(self, results):
        """Where the judge can read them. Memory that a model gives several calls (a CUDA graph) is
        passed on once: the judge sees that, and makes one call at a time."""
        tensors = [
            tensor for result in results for tensor in structure.flatten(result, self.device.name)
        ]
        held = {}
        for tensor in tensors:
            place = self._key_of(tensor)
            if place not in held:
                held[place] = self.device.hold(tensor)
        return [held[self._key_of(tensor)] for tensor in tensors]

    def answer(self, described, own_ns):
        self.channel.send(wire.done(described, own_ns))

    def describe(self, outputs):
        if len(outputs) > wire.OUTPUTS:
            raise structure.Unsupported(f"forward returned {len(outputs)} tensors")
        described = []
        for tensor in outputs:
            if tensor.device.type != self.device.kind:
                raise Failure(
                    wire.FAILED_RUN,
                    f"forward returned a tensor of {tensor.dtype} on {tensor.device}",
                )
            described.append(
                wire.output(
                    tensor.data_ptr(),
                    tensor.numel() * tensor.element_size(),
                    structure.code_of(tensor),
                    (*tensor.shape, 2) if tensor.is_complex() else tuple(tensor.shape),
                )
            )
        self.outputs = outputs  # alive until the next call: the judge reads them from outside
        return described


def serve(channel, lock, open_gpu=None, library=None):
    """Serves one judge until the channel closes. `lock` locks the sandbox and says so to the judge,
    once; `open_gpu` opens a GPU behind it; `library` is build/libwarpgym_child.so."""
    child = Child(channel, open_gpu, library)
    unready = None
    stage = wire.FAILED_LOAD
    with torch.no_grad():
        while True:
            message, descriptors = channel.receive()
            if not message:
                return
            kind = wire.HEAD.unpack_from(message)[0]
            child.opened = ()
            try:
                if kind == wire.CALL:
                    stage = wire.FAILED_RUN
                    _, mode, noise = wire.CALL_BODY.unpack_from(message)
                    child.call(mode, noise, descriptors)
                elif kind == wire.WAKE:
                    stage = wire.FAILED_RUN
                    child.wake(*wire.WAKE_BODY.unpack_from(message)[1:3])
                elif kind == wire.FILL:
                    child.fill(*wire.FILL_BODY.unpack_from(message)[1:])
                elif kind == wire.MAP:
                    child.map(message, descriptors)
                elif kind == wire.WARM:
                    lock()
                    try:
                        child.warm(*wire.GPU.unpack_from(message, wire.TYPE.size))
                        triton_build.ready()
                    except Exception as error:  # noqa: BLE001 - reported in answer to OPEN
                        unready = error
                        for pipe in descriptors:  # rather another process than this one
                            os.write(pipe, b"!")
                elif kind == wire.OPEN:
                    opened = wire.OPEN_BODY.unpack_from(message)
                    _, role, seed, threads, uuid, queues, _, precision, mode, name = opened[:10]
                    simple, child.oracle = opened[10:]
                    torch.set_num_threads(threads)
                    texts = [_mapped(descriptor) for descriptor in descriptors]
                    lock()
                    if unready:
                        raise unready
                    child.set_precision(precision)
                    child.compile_mode = mode.rstrip(b"\0").decode()
                    child.entry_point = name.rstrip(b"\0").decode()
                    child.warm(uuid, queues)
                    child.prepare_calls()
                    child.weight_seed = seed
                    torch.manual_seed(seed)
                    if role == wire.CASES:
                        child.open_cases(texts[0], simple == wire.COMPARED)
                    elif role == wire.SIZES:
                        child.open_sizes(texts[0])
                    elif role == wire.REFERENCE and simple:
                        child.open_answers(texts[0], texts[1] if len(texts) > 1 else b"")
                    elif role == wire.REFERENCE:
                        child.open_reference(texts[0])
                    else:
                        child.open_candidate(
                            texts[0], texts[1], texts[2] if len(texts) > 2 else b""
                        )
            except Failure as failure:
                channel.send(wire.failed(failure.failure, str(failure)))
                return
            except BaseException as error:  # noqa: BLE001 - whatever a candidate raises, exit() too
                failure = _failure_of(error, stage, child.file_name)
                channel.send(wire.failed(failure.failure, str(failure)))
                return
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
