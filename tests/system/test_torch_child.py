"""The PyTorch child alone, without sandbox, judge or GPU: what it makes, maps, fills and calls.

Its device is the CPU, or one that only counts what is asked of it.
"""

import contextlib
import ctypes
import functools
import json
import mmap
import os
import pathlib
import types

import pytest

torch = pytest.importorskip("torch")

from warpgym import ablation, child, extension, gpu, structure, wire  # noqa: E402

SLOT_BYTES = 4096
PROBLEM = """import torch


class Model(torch.nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("steps", torch.arange(3))
        self.scale = scale

    def forward(self, x, index):
        return self.scale * x + self.weight, index + 1


def get_inputs():
    return [torch.randn(5, 4), torch.arange(6)]


def get_init_inputs():
    return [4, torch.ones(1)]
"""


class Channel:
    """Keeps what is said to the judge."""

    def __init__(self, incoming=()):
        self.said = []
        self.incoming = list(incoming)
        self.socket = types.SimpleNamespace(fileno=lambda: 77)

    def send(self, message, descriptors=()):
        self.said.append((message, [os.dup(descriptor) for descriptor in descriptors]))

    def receive(self):
        return self.incoming.pop(0) if self.incoming else (b"", [])

    @property
    def kinds(self):
        return [wire.HEAD.unpack_from(message)[0] for message, _ in self.said]


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with torch.no_grad():
        yield


def opened(precision=None, source=PROBLEM, device=None, oracle=wire.ORACLE_OR_NONE):
    made = child.Child(Channel())
    made.oracle = oracle
    made.precision = precision
    if device:
        made.device = device
    made.weight_seed = 7
    made.open_reference(source.encode())
    return made


PLACES_AT = wire.HEAD.size + len(wire.layout([], 0))


def handed_over(made):
    """Description and values, as the judge reads them from outside."""
    places = wire.PLACES.unpack_from(made.channel.said[0][0], PLACES_AT)
    return [bytearray(ctypes.string_at(*places[at : at + 2])) for at in (0, 2)]


def as_candidate(reference, source, device=None):
    """Opened with what the reference handed over."""
    made = child.Child(Channel())
    made.weight_seed, made.entry_point = reference.weight_seed, "ModelNew"
    made.precision = reference.precision
    if device:
        made.device = device
    made.open_candidate(source.encode(), *handed_over(reference))
    return made


def map_message(made, slots):
    """As the judge says it, of what OPENED said; memory for those slots."""
    message = made.channel.said[0][0]
    start = wire.HEAD.size
    end = start + wire.LAYOUT_HEAD.size + wire.ARGUMENTS * wire.ARGUMENT.size
    count, _, slot_bytes = wire.LAYOUT_HEAD.unpack_from(message, start)
    assert count == 2 and slot_bytes <= SLOT_BYTES
    descriptor = os.memfd_create("slots")
    os.ftruncate(descriptor, slots * slot_bytes)
    tail = wire.MAP_TAIL.pack(slots * slot_bytes, 0, 0)
    return wire.HEAD.pack(wire.MAP, slots) + message[start:end] + tail, descriptor, slot_bytes


def outputs_of(made):
    message = made.channel.said[-1][0]
    kind, count = wire.HEAD.unpack_from(message)
    assert kind == wire.DONE
    at = wire.HEAD.size + wire.TIMES.size
    return [wire.OUTPUT.unpack_from(message, at + i * wire.OUTPUT.size) for i in range(count)]


# --- placing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [None, torch.float16, torch.bfloat16, torch.float32])
def test_place(precision):
    made = child.Child(Channel())
    made.precision = precision
    kept = torch.arange(3)
    value = {"a": [torch.ones(2), (kept, 1.5)], "b": "text", "c": None, "d": torch.ones(1).double()}
    placed = made._place(value)
    floating = precision or torch.float32
    assert placed["a"][0].dtype == floating and isinstance(placed["a"][1], tuple)
    assert placed["a"][1][0] is kept and placed["a"][1][1] == 1.5
    assert placed["b"] == "text" and placed["c"] is None
    assert placed["d"].dtype == (precision or torch.float64)
    module = made._place(torch.nn.BatchNorm1d(3))
    assert module.weight.dtype == floating and module.num_batches_tracked.dtype == torch.int64


@pytest.mark.parametrize("precision", [None, torch.float16, torch.bfloat16])
def test_shift(precision):
    """The mean is far from the problem's on either side; whole numbers are as drawn."""
    made = opened(precision, PROBLEM.replace("5, 4", "200, 4"))
    slot = [torch.empty(200, 4).to(precision), torch.empty(6, dtype=torch.int64)]
    made._look(slot)
    sides = set()
    for seed in range(12):
        torch.manual_seed(seed)
        made._draw_shifted(slot)
        mean = slot[0].double().mean().item()
        assert 0.7 < abs(mean) < 1 and slot[1].tolist() == list(range(6))
        sides.add(mean > 0)
    assert made.promised[0] == [] and sides == {False, True}


@pytest.mark.parametrize(
    "made",
    [
        "torch.manual_seed(3); return [torch.randn(200, 4), torch.arange(6)]",
        "g = torch.Generator().manual_seed(3)\n"
        "    return [torch.randn(200, 4, generator=g), torch.arange(6)]",
    ],
)
def test_shift_of_inputs_with_a_seed_of_their_own(made):
    made = opened(source=PROBLEM.replace("return [torch.randn(5, 4), torch.arange(6)]", made))
    slot = [torch.empty(200, 4), torch.empty(6, dtype=torch.int64)]
    made._look(slot)
    made._draw_shifted(slot)
    assert 0.7 < abs(slot[0].mean().item()) < 1
    before = torch.manual_seed, torch.Generator
    made._draw(slot)
    assert torch.equal(slot[0], torch.randn(200, 4, generator=torch.Generator().manual_seed(3)))
    assert before == (torch.manual_seed, torch.Generator) and before[1].__module__ == "torch._C"


# --- oracles -------------------------------------------------------------------------------------


def test_memory_for_an_oracle():
    """What others have of a GPU's memory does not decide whether there is one."""
    wants = PROBLEM.replace(
        "return self.scale",
        "if x.dtype == torch.float64:\n"
        "            raise torch.OutOfMemoryError('none left')\n"
        "        return self.scale",
    )
    alone = opened(source=wants)
    assert alone.wide_model is None and alone.channel.kinds == [wire.OPENED]
    with pytest.raises(torch.OutOfMemoryError):
        opened(source=wants, oracle=wire.ORACLE)
    assert opened(oracle=wire.NO_ORACLE).wide_model is None


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spare_bytes", "released"), [(0, True), (1 << 20, False)])
def test_large_outputs_make_way_for_inputs(monkeypatch, spare_bytes, released):
    """What they took is known to the wake before the next call, which clears caches by it."""
    stretched = []
    monkeypatch.setattr(child, "SPARE_BYTES", spare_bytes)
    monkeypatch.setattr(gpu.Cpu, "stretch", lambda _, bytes: stretched.append(bytes))
    made = opened()
    message, descriptor, _ = map_message(made, 1)
    made.map(message, [descriptor])
    made.fill(0, 1)
    made.call(wire.RUN, 1, [])
    held = made.outputs
    made.fill(0, 2)
    assert (made.outputs is None) == released
    assert made.outputs is None or made.outputs is held
    made.wake(0)
    assert stretched == [5 * 4 * 4 + 6 * 8]


# --- sizes ---------------------------------------------------------------------------------------

BLOCK = 4096  # slots are whole pages
WEIGHTS = 4 * 4 + 3 * 8  # four floats, three integers


def sizes(source, precision=None):
    """(bytes of the inputs, of the weights), as a child says them that makes neither."""
    made = child.Child(Channel())
    made.precision = precision
    made.open_sizes(source.encode())
    message = made.channel.said[0][0]
    _, _, slot_bytes = wire.LAYOUT_HEAD.unpack_from(message, wire.HEAD.size)
    return slot_bytes, wire.WEIGHTS.unpack(message[-wire.WEIGHTS.size :])[0]


SIZED = {
    "as it stands": ("", "", None, BLOCK, WEIGHTS),
    "a terabyte": ("randn(5, 4)", "randn(1 << 38)", None, (1 << 40) + BLOCK, WEIGHTS),
    "a terabyte of weights": ("randn(width)", "randn(1 << 38)", None, BLOCK, (1 << 40) + 24),
    "in half precision": ("randn(5, 4)", "randn(1 << 38)", torch.half, (1 << 39) + BLOCK, 8 + 24),
    "a constructor that needs values": ("= scale", "= scale.item()", None, BLOCK, 0),
    "one that fails": ("self.scale = scale", "raise OSError", None, BLOCK, 0),
}


@pytest.mark.parametrize("row", SIZED)
def test_sizes(row):
    old, new, precision, *wanted = SIZED[row]
    assert sizes(PROBLEM.replace(old, new), precision) == tuple(wanted)


def test_sizes_of_inputs_that_need_values():
    with pytest.raises(RuntimeError):
        sizes(PROBLEM.replace("torch.randn(5, 4)", "torch.randn(5, 4)[: torch.ones(1).item()]"))


# --- models --------------------------------------------------------------------------------------


class Meta(gpu.Cpu):
    """A device that is not the CPU, and has no bytes."""

    kind = name = "meta"


BUILT = """import torch

seen = []


class ModelNew(torch.nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        seen.append((torch.get_default_device().type, scale.device.type))
        old = torch.Tensor(width, 2)  # a constructor that knows no default device
        torch.nn.init.normal_(old)
        self.other = torch.nn.Parameter(old * torch.randn(2))
        seen.append((self.other.device.type, self.other.dtype, self.other.sum().item()))
        self.register_buffer("sums", self.other.detach().sum(1))
        self.plain = torch.ones(1)

    def forward(self, x):
        return x
"""


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
def test_a_model_is_built_on_the_cpu_and_moved(precision):
    """As KernelBench does it: what it is constructed from is on the device before."""
    made = as_candidate(opened(precision), BUILT, Meta())
    torch.manual_seed(7)
    drawn = (torch.nn.init.normal_(torch.Tensor(4, 2)) * torch.randn(2)).sum().item()
    assert made.module.seen == [("cpu", "meta"), ("cpu", torch.float32, drawn)]
    placed = [(made.model.other.device.type, made.model.other.dtype),
              (made.model.sums.device.type, made.model.sums.dtype)]  # fmt: skip
    assert placed == 2 * [("meta", precision or torch.float32)]
    assert made.model.plain.device.type == "cpu"


def test_equal_seeds_make_equal_models():
    """Whatever was drawn before, at import or for the constructor; no name is the reference's."""
    drawing = "import torch\ntorch.randn(5)\n"
    source = PROBLEM.replace("return [4,", "return [4 + 0 * torch.randint(9, ()).item(),")
    renamed = source.replace("class Model(", "class ModelNew(").replace(".weight", ".w")
    reference = opened(source=source)
    made = as_candidate(reference, drawing + renamed)
    assert torch.equal(made.model.w, reference.model.weight)


def test_values_are_handed_over_where_they_lie():
    """One block that stays until the judge says something, and no file of scratch."""
    made = opened()
    description, values = handed_over(made)
    assert len(values) == made.opened[1].numel() and not list(pathlib.Path().glob("*val*"))
    rows = json.loads(bytes(description))["weights"]
    found = structure.unpack(rows, values, "cpu")
    assert set(found) == {"<init 0>", "weight", "steps"}
    assert torch.equal(found["weight"], made.model.weight)
    assert torch.equal(found["steps"], torch.arange(3))
    assert made.channel.said[0][1] == []


# --- decoys --------------------------------------------------------------------------------------


def doubled(x):
    """As own code of an extension does it: no operator of PyTorch sees it."""
    y = torch.empty_like(x)
    values = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    values[:] = [2 * value for value in x.flatten().tolist()]
    return y.view(x.shape)


class Plan:
    def run(self, x):
        return doubled(x)

    def __call__(self, x):
        return doubled(x)


def test_what_an_extension_defines_has_no_effect(monkeypatch):
    """Functions, objects and operators; all is as before afterwards."""
    library = torch.library.Library("warpgym_test", "DEF")
    library.define("doubled(Tensor x) -> Tensor")
    library.impl("doubled", doubled, "CPU")
    made = types.ModuleType("made")
    made.Plan, made.doubled = Plan, functools.partial(doubled)
    monkeypatch.setattr(extension, "modules", [made])
    monkeypatch.setattr(extension, "operators", {"warpgym_test::doubled"})
    plan, x = Plan(), torch.tensor([1.0, -2.0])
    calls = {
        "function": lambda: made.doubled(x),
        "method": lambda: plan.run(x),
        "object": lambda: plan(x),
        "operator": lambda: torch.ops.warpgym_test.doubled(x),
        "overload": lambda: torch.ops.warpgym_test.doubled.default(x),
    }
    for on_gpu, wanted in ((False, [0, 0]), (True, [2, -4])):
        with ablation.ablated(on_gpu):
            found = {name: call().tolist() for name, call in calls.items()}
        assert found == dict.fromkeys(calls, wanted)
    assert {name: call().tolist() for name, call in calls.items()} == dict.fromkeys(calls, [2, -4])
    assert x.tolist() == [1, -2]


# --- slots ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
def test_slots(precision):
    made = opened(precision)
    message, descriptor, slot_bytes = map_message(made, 3)
    made.map(message, [descriptor])
    assert len(made.inputs) == len(made.tensors) == 3
    memory = mmap.mmap(descriptor, 3 * slot_bytes)
    made.fill(0, 1 << 63)
    x, index = made.inputs[2]
    assert x.shape == (5, 4) and x.dtype == (precision or torch.float32)
    assert index.tolist() == list(range(6))
    assert bytes(memory[2 * slot_bytes :][: x.element_size()]) == bytes(
        x.flatten()[:1].view(torch.uint8).tolist()
    )
    first = [inputs[0].clone() for inputs in made.inputs]
    assert not torch.equal(first[0], first[1]) and not torch.equal(first[1], first[2])
    made.fill(0, 1 << 63)  # the same seed, the same inputs
    assert all(torch.equal(a, inputs[0]) for a, inputs in zip(first, made.inputs, strict=True))
    drawn = {}
    for shift in (0, wire.SHIFTED, wire.ONE_SHIFTED):
        made.fill(shift, 5)
        drawn[shift] = [inputs[0].clone() for inputs in made.inputs]
    for shift, slots in ((wire.SHIFTED, [0, 1, 2]), (wire.ONE_SHIFTED, [2])):
        differ = [not torch.equal(drawn[0][slot], drawn[shift][slot]) for slot in range(3)]
        assert differ == [slot in slots for slot in range(3)]
    assert made.channel.kinds == [wire.OPENED, wire.MAPPED] + 5 * [wire.FILLED]

    made.call(wire.RUN, 9, [])
    outputs = outputs_of(made)
    assert len(outputs) == 6  # of each slot in turn
    for slot, (x, index) in enumerate(made.inputs):
        y, z = made.outputs[2 * slot : 2 * slot + 2]
        assert torch.equal(y, x + made.model.weight) and torch.equal(z, index + 1)
        assert outputs[2 * slot][:5] == (
            y.data_ptr(), 20 * y.element_size(), structure.CODES[y.dtype], 2, 5,
        )  # fmt: skip
    made.call(wire.DOUBLE, 9, [])
    assert made.outputs[0].dtype == torch.float64 and made.outputs[1].dtype == torch.int64
    made.call(wire.WITHOUT, 0, [])
    assert torch.equal(made.outputs[0], made.inputs[0][0])
    assert not torch.equal(made.model.weight, torch.zeros(4).to(made.model.weight.dtype))

    made.map(message, [])  # laid out anew in the memory that is there
    assert torch.equal(made.inputs[0][1], torch.arange(6))


def test_noise_is_the_same_for_both():
    source = PROBLEM.replace("return self.scale * x", "return torch.rand_like(x) + x")
    made = opened(source=source)
    message, descriptor, _ = map_message(made, 1)
    made.map(message, [descriptor])
    made.fill(0, 1)
    drawn = []
    for noise in (5, 5, 6, (1 << 64) - 1):
        made.call(wire.RUN, noise, [])
        drawn.append(made.outputs[0].clone())
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[1], drawn[2])


def test_a_candidate_makes_inputs_like_its_own():
    reference = opened()
    message, descriptor, _ = map_message(reference, 2)
    source = PROBLEM.replace("class Model(", "class ModelNew(").replace("get_inputs", "unused")
    candidate = as_candidate(reference, source)
    candidate.map(message, [descriptor])
    candidate.fill(0, 1)
    first = [tensor.clone() for tensor in candidate.tensors[0]]
    candidate.fill(0, 2)
    assert candidate.channel.kinds[-1] == wire.FILLED
    assert not torch.equal(first[0], candidate.tensors[0][0])
    assert [tensor.dtype for tensor in first] == [torch.float32, torch.int64]


@pytest.mark.parametrize("count", [0, 1, 3, 6])
def test_warm_ups_are_calls_on_the_inputs_of_before(count):
    """At the same addresses, whatever the model does to them; one that fails is no matter."""
    made = opened()
    message, descriptor, _ = map_message(made, 2)
    made.map(message, [descriptor])
    made.fill(0, 1)
    before = [tensors[0].clone() for tensors in made.tensors]
    made.fill(0, 2)
    seen = []

    def model(x, index):
        seen.append((x.data_ptr(), x.clone()))
        x.zero_()
        if len(seen) == 4:
            raise ValueError

    made.model = model
    made.wake(count)
    assert made.channel.kinds[-1] == wire.AWAKE
    wanted = (list(zip(made.tensors, before, strict=True)) * count)[:count]
    assert len(seen) == min(count, 4)
    for (address, x), (tensors, old) in zip(seen, wanted, strict=False):
        assert address == tensors[0].data_ptr() and torch.equal(x, old)


def test_inputs_that_fill_the_caches_have_none(monkeypatch):
    made = opened()
    monkeypatch.setattr(child, "SPARE_BYTES", 2 * (5 * 4 * 4 + 6 * 8) - 1)
    message, descriptor, _ = map_message(made, 2)
    made.map(message, [descriptor])
    made.fill(0, 1)
    made.model = lambda *_: pytest.fail("it has nothing to be called with")
    made.wake(3)
    assert made.channel.kinds[-1] == wire.AWAKE


@pytest.mark.parametrize(
    ("inputs", "words"),
    [("[torch.randn(5, 4)]", "another number"), ("[torch.randn(4, 5), torch.arange(6)]", "shapes")],
)
def test_inputs_that_change(inputs, words):
    made = opened()
    message, descriptor, _ = map_message(made, 2)
    made.map(message, [descriptor])
    made.module.get_inputs = lambda: eval(inputs)
    with pytest.raises(child.Failure, match=words) as caught:
        made.fill(0, 1)
    assert caught.value.failure == wire.FAILED_RUN


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([torch.ones(1)] * (wire.OUTPUTS + 1), f"{wire.OUTPUTS + 1} tensors"),
        ([torch.ones(1, device="meta")], "on meta"),
        ([torch.ones(1).to(torch.float8_e5m2)], "float8_e5m2"),
    ],
)
def test_outputs_refused(outputs, words):
    made = child.Child(Channel())
    with pytest.raises((child.Failure, structure.Unsupported), match=words):
        made.describe(outputs)
    made.answer(made.describe([torch.ones(1)] * wire.OUTPUTS), 1)
    assert len(outputs_of(made)) == wire.OUTPUTS


# --- a GPU that only counts ----------------------------------------------------------------------


class Counter:
    kind = name = "cpu"

    def __init__(self):
        self.did = []
        self.marks = [self, self]
        self.library = types.SimpleNamespace(segments_map=lambda fd, count: 1000 + count)

    def __getattr__(self, name):
        return lambda *_: self.did.append(name)

    def generators(self):
        return (torch.default_generator,)

    def elapsed_time(self, _later):
        return 2.5

    def map(self, memory, offset, dtype, shape):
        self.did.append((memory, offset))
        return torch.zeros(shape, dtype=dtype)

    def hold(self, tensor):
        self.did.append("hold")
        return tensor

    @contextlib.contextmanager
    def traced(self, descriptor):
        self.did.append(f"trace into {descriptor}")
        yield
        self.did.append("traced")


@pytest.fixture
def counted(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (1 << 30, 1 << 30))
    made = opened(device=Counter())
    message, descriptor, slot_bytes = map_message(made, 2)
    message = message[: -wire.MAP_TAIL.size] + wire.MAP_TAIL.pack(0, 0, 2 * slot_bytes)
    made.device.did.clear()
    made.map(message, [descriptor])
    memory = 1000 + 2 * slot_bytes
    offset = made.device.did[1][1]
    assert made.device.did == [
        (memory, 0), (memory, offset), (memory, slot_bytes), (memory, slot_bytes + offset),
    ]  # fmt: skip
    made.device.did.clear()
    return made


def test_call_on_a_gpu(counted):
    """The GPU is this process's and idle before the first call, and idle after the last; the time
    of both is that of the second twice."""
    model = counted.model
    counted.model = lambda *inputs: counted.device.did.append("call") or model(*inputs)
    counted.fill(0, 1)
    assert counted.device.did == ["synchronize"]
    counted.device.did.clear()
    counted.call(wire.RUN, 1, [])
    assert counted.device.did == (
        ["wake", "call", "record", "call"] + 4 * ["hold"] + ["record", "synchronize"]
    )
    message = counted.channel.said[-1][0]
    assert wire.TIMES.unpack_from(message, wire.HEAD.size) == (5_000_000, 0)
    counted.device.did.clear()
    counted.call(wire.TRACE, 1, [55])
    assert counted.device.did[0] == "trace into 55" and counted.device.did[-1] == "traced"


def test_warm_ups_on_a_gpu(counted):
    """In one slot after the other, with what the judge has put there."""
    counted.fill(0, 1)
    counted.device.did.clear()
    seen = []
    counted.model = lambda x, _: seen.append(x.data_ptr())
    counted.wake(3)
    places = [x.data_ptr() for x, _ in counted.tensors]
    assert seen == [*places, places[0]]
    assert counted.device.did == ["stretch"]


def test_arguments_that_do_not_fit(counted):
    counted.device.library.segments_map = lambda *_: 0
    message, descriptor, slot_bytes = map_message(counted, 2)
    message = message[: -wire.MAP_TAIL.size] + wire.MAP_TAIL.pack(0, 0, 2 * slot_bytes)
    with pytest.raises(child.Failure) as caught:
        counted.map(message, [descriptor])
    assert caught.value.failure == wire.FAILED_MEMORY


LACKS = {
    "CUDA error: out of memory\nCUDA kernel errors might be asynchronously": wire.FAILED_MEMORY,
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`": wire.FAILED_MEMORY,
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED": wire.FAILED_MEMORY,
    "CUDA error: an illegal memory access was encountered": wire.FAILED_RUN,
    "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED": wire.FAILED_RUN,  # a lost context says so, too
}


@pytest.mark.parametrize("text", LACKS)
def test_lack_of_memory_by_its_text(text):
    failure = child._failure_of(RuntimeError(text), wire.FAILED_RUN, "candidate.py")
    assert failure.failure == LACKS[text]
    assert text in str(failure)


@pytest.mark.parametrize("hidden", [False, True])
def test_what_an_error_answers_is_said(hidden):
    with pytest.raises(ValueError, match="the capture failed") as caught:
        try:
            raise RuntimeError("no such kernel")
        except RuntimeError as inner:
            raise ValueError("the capture failed") from (None if hidden else inner)
    failure = child._failure_of(caught.value, wire.FAILED_RUN, "candidate.py")
    assert ("behind it: RuntimeError: no such kernel" in str(failure)) != hidden


def test_pytorch_without_cuda(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    with pytest.raises(gpu.Unavailable) as caught:
        gpu.Gpu(None, None, 3)
    failure = child._failure_of(caught.value, wire.FAILED_LOAD, "candidate.py")
    assert failure.failure == wire.FAILED_UNSUPPORTED
    assert str(failure) == (
        f"PyTorch {torch.__version__} is built without CUDA: install a build with it, or set "
        "torch.device=cpu"
    )


# --- getting ready -------------------------------------------------------------------------------


UUID = b"GPU-00112233-4455-6677-8899-aabbccddeeff"


def open_message():
    return wire.OPEN_BODY.pack(wire.OPEN, wire.REFERENCE, 7, 1, UUID, 3, 0, 0, b"", b"Model", 0, 0)


def warm_message():
    return wire.TYPE.pack(wire.WARM) + wire.GPU.pack(UUID, 3)


def served(incoming, open_gpu):
    """What is said in answer, and how often the sandbox was locked."""
    locked = []
    channel = Channel(incoming)
    child.serve(channel, lambda: locked.append(1), open_gpu)
    return channel, len(locked)


def source_descriptor(text=PROBLEM):
    descriptor = os.memfd_create("source")
    os.write(descriptor, text.encode())
    return descriptor


def test_warmed_once():
    opens = []
    names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS")

    def open_gpu(descriptor):
        opens.append((descriptor, *(os.environ.pop(name) for name in names)))
        return Counter()

    torch_info, torch.cuda.mem_get_info = torch.cuda.mem_get_info, lambda: (1 << 30, 1 << 30)
    warm = warm_message()
    wake = wire.WAKE_BODY.pack(wire.WAKE, 1, 0, 0)
    channel, _ = served(
        [(warm, []), (warm, []), (open_message(), [source_descriptor()]), (wake, [])], open_gpu
    )
    torch.cuda.mem_get_info = torch_info
    assert opens == [(77, UUID.decode(), "3")]
    assert channel.kinds == [wire.OPENED, wire.AWAKE]


def test_an_early_failure_is_reported_when_it_matters():
    def open_gpu(_descriptor):
        raise gpu.Unavailable("no GPU today")

    warm = warm_message()
    channel, _ = served([(warm, [])], open_gpu)
    assert channel.kinds == []
    ours, theirs = os.pipe()
    channel, _ = served([(warm, [theirs]), (open_message(), [source_descriptor()])], open_gpu)
    assert channel.kinds == [wire.FAILED]
    assert os.read(ours, 2) == b"!"  # and then the end: they have closed theirs
    assert os.read(ours, 2) == b""
    os.close(ours)
    message = channel.said[0][0]
    assert wire.HEAD.unpack_from(message)[1] == wire.FAILED_UNSUPPORTED
    assert b"no GPU today" in message


# --- the judge's pool, and others ----------------------------------------------------------------


@pytest.fixture
def pool(monkeypatch):
    """Its pool is number 0; `on` are the pools that PyTorch would ask, first begun first."""
    on = []

    class Graph:
        def capture_begin(self, fails=False):
            assert not on
            if fails:
                raise RuntimeError("a capture is under way")
            on.append("graph")

        def capture_end(self):
            on.remove("graph")

    def begin(_device, name):
        assert name not in on
        on.append(name)

    names = {
        "_cuda_beginAllocateCurrentThreadToPool": begin,
        "_cuda_beginAllocateCurrentStreamToPool": begin,
        "_cuda_endAllocateToPool": lambda _device, name: on.remove(name),
        "_cuda_releasePool": lambda *_: None,
    }
    for name, function in names.items():
        monkeypatch.setattr(torch._C, name, function, raising=False)
        monkeypatch.setattr(torch.cuda.memory, name, function, raising=False)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph, raising=False)
    monkeypatch.setattr(torch.cuda, "MemPool", lambda _: types.SimpleNamespace(id=0), raising=False)
    gpu._Pool(None, 0)
    assert on == [0]
    return on


def test_pool_steps_aside(pool):
    begin = torch._C._cuda_beginAllocateCurrentThreadToPool
    end = torch._C._cuda_endAllocateToPool
    begin(0, 1)
    assert pool == [1]
    torch._C._cuda_beginAllocateCurrentStreamToPool(0, 2)
    assert pool == [1, 2]
    end(0, 1)
    assert pool == [2]
    end(0, 2)
    assert pool == [0]
    with torch.cuda.use_mem_pool(types.SimpleNamespace(id=3), 0):
        assert pool == [3]
    assert pool == [0]
    graph = torch.cuda.CUDAGraph()
    for _ in range(2):
        graph.capture_begin()
        assert pool == ["graph"]
        graph.capture_end()
        assert pool == [0]


def test_pool_comes_back(pool):
    """Whatever fails: without it the judge would not find an honest candidate's outputs."""
    with pytest.raises(RuntimeError):
        torch.cuda.CUDAGraph().capture_begin(fails=True)
    assert pool == [0]
    with pytest.raises(ValueError):
        torch._C._cuda_endAllocateToPool(0, 7)  # an end without a beginning
    assert pool == [0]


def test_one_memory_for_several_calls_stays_one():
    """As a CUDA graph's output, which the judge's pool does not hold: it is copied into that."""
    one = child.Child(Channel())
    one.device = types.SimpleNamespace(name="cpu", hold=lambda tensor: tensor.clone())
    kept = torch.arange(6.0)
    first, second, third, fourth = one._hold([kept, kept[:], [kept[1:], kept.view(2, 3)]])
    assert first is second
    assert len({tensor.data_ptr() for tensor in (first, third, fourth)}) == 3
    assert torch.equal(third, kept[1:]) and torch.equal(fourth, kept.view(2, 3))


def test_a_graph_s_answer_outlives_the_next_call(monkeypatch):
    buffer = torch.zeros(3)

    def compiled(model, mode):
        assert mode == "reduce-overhead"
        return lambda x: [buffer.copy_(model(x)), {"again": buffer}]

    monkeypatch.setattr(torch, "compile", compiled)
    monkeypatch.setattr(child.triton_build, "install", lambda _: None)
    one = child.Child(Channel())
    one.model, one.compile_mode = torch.nn.Identity(), "reduce-overhead"
    one._compile([torch.ones(3)])
    first = one.model(torch.full((3,), 1.0))
    second = one.model(torch.full((3,), 2.0))
    assert [tensor[0].item() for tensor in structure.flatten(first)] == [1, 1]
    assert [tensor[0].item() for tensor in structure.flatten(second)] == [2, 2]
