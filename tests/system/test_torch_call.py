"""Timed PyTorch calls, made by the child's native function: what it says to the judge, what it
leaves to Python, and that a candidate's patches do not reach it."""

import ctypes
import socket

import pytest
from support import CHECKOUT

torch = pytest.importorskip("torch")

from warpgym import calls, child, gpu, structure, wire  # noqa: E402

NOISE = (1 << 64) - 3
LIBRARY = ctypes.CDLL(str(CHECKOUT / "build" / "libwarpgym_child.so"))


class Judge:
    """The other end of the channel."""

    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.child = child.Child(wire.Channel(theirs.detach()), library=LIBRARY)
        self.child.prepare_calls()

    def ask(self, model, *inputs, mode=wire.RUN, noise=NOISE, slots=1):
        """WAKE, with the CALL behind it on the channel already."""
        self.child.model = model
        self.child.arguments = (inputs,) * slots
        self.socket.send(wire.CALL_BODY.pack(wire.CALL, mode, noise) + bytes(8))
        self.child.wake(0)
        assert wire.HEAD.unpack(self.socket.recv(64))[0] == wire.AWAKE

    def answer(self):
        message = self.socket.recv(wire.BYTES)
        kind, count = wire.HEAD.unpack_from(message)
        assert kind == wire.DONE
        assert wire.TIMES.unpack_from(message, wire.HEAD.size)[0] > 0
        start = wire.HEAD.size + wire.TIMES.size
        assert len(message) == start + count * wire.OUTPUT.size
        return [
            wire.OUTPUT.unpack_from(message, start + i * wire.OUTPUT.size)
            for i in range(count)
        ]

    def is_silent(self):
        self.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            self.socket.recv(1)
        self.socket.settimeout(10)
        return True


@pytest.fixture
def judge():
    with torch.no_grad():
        yield Judge()


def row(tensor):
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    shape = [*parts.shape, *[0] * (wire.DIMENSIONS - parts.dim())]
    size = tensor.numel() * tensor.element_size()
    return (tensor.data_ptr(), size, structure.CODES[tensor.dtype], parts.dim(), *shape)


class Half(torch.Tensor):
    """A subclass that says nothing wrong."""


X = torch.arange(12.0).reshape(3, 4)
FLOATING = [torch.float16, torch.bfloat16, torch.float64]
PLAIN = {
    "a tensor": lambda x: x + 1,
    "a parameter": torch.nn.Parameter,
    "a number's tensor": lambda x: x.sum(),
    "an empty one": lambda x: x[:0],
    "a list": lambda x: [x + 1, x + 2],
    "a tuple in a list": lambda x: [(x, None), x.to(torch.int64), ()],
    "a named tuple": lambda x: x.max(dim=1),
    "types": lambda x: [x.to(dtype) for dtype in FLOATING + [torch.bool, torch.uint8]],
    "as many as there may be": lambda x: [x] * wire.OUTPUTS,
}
OTHER = {
    "a dictionary": lambda x: {"a": x + 1, "b": [x]},
    "a transposed one": lambda x: [x, x.t()],
    "a subclass": lambda x: (x + 1).as_subclass(Half),
    "a complex one": lambda x: torch.complex(x, x).conj(),
    "numbers": lambda x: [1.5, x, 3],
    "deep lists": lambda x: [[[[[[[[[[x]]]]]]]]]],
}


@pytest.mark.parametrize(
    ("name", "slots"),
    [(name, 1) for name in [*PLAIN, *OTHER]]
    + [("a named tuple", 3), ("a dictionary", 3)],
)
def test_answers(judge, name, slots, monkeypatch):
    """As child.py's own way describes them; plain tensors without it."""
    model = {**PLAIN, **OTHER}[name]
    if name in PLAIN:
        monkeypatch.setattr(judge.child, "_plain", None)
    judge.ask(model, X, slots=slots)
    said = judge.answer()
    assert said == [row(tensor) for tensor in judge.child.outputs]
    expected = [tensor for _ in range(slots) for tensor in structure.flatten(model(X))]
    assert len(said) == len(expected)
    assert all(
        torch.equal(a, b) and a.dtype == b.dtype
        for a, b in zip(judge.child.outputs, expected, strict=True)
    )
    assert judge.is_silent()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda x: [x] * (wire.OUTPUTS + 1), f"{wire.OUTPUTS + 1} tensors"),
        (lambda x: torch.ones(1, device="meta"), "on meta"),
        (lambda x: "text", "str"),
        (lambda x: 1 // 0, "division"),
        (lambda x, y: x, "positional"),
    ],
)
def test_answers_refused(judge, model, words):
    with pytest.raises(Exception, match=words):
        judge.ask(model, X)
    assert wire.HEAD.unpack(judge.socket.recv(64))[0] == wire.AWAKE
    assert judge.is_silent()


def test_other_messages_are_left_to_python(judge):
    judge.ask(lambda x: pytest.fail("it was not asked for"), X, mode=wire.DOUBLE)
    assert judge.is_silent()
    message, _ = judge.child.channel.receive()
    assert wire.CALL_BODY.unpack_from(message) == (wire.CALL, wire.DOUBLE, NOISE)


def test_noise_comes_with_the_call(judge):
    drawn = []
    for noise in (NOISE, NOISE, 7):
        torch.manual_seed(7)  # whatever state WAKE finds, and a candidate may leave
        judge.ask(lambda x: torch.rand(3), X, noise=noise)
        drawn.append(judge.child.outputs[0])
        judge.answer()
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    torch.manual_seed(NOISE % (1 << 63))
    assert torch.equal(drawn[0], torch.rand(3))


def test_patches_do_not_reach_a_call(judge, monkeypatch):
    """All that Python code of a candidate can reach, replaced before its call and in it."""
    touched = []

    def patch():
        def lie(*_arguments, **_keywords):
            touched.append(1)
            return 7

        for owner, names in {
            torch.Tensor: [
                "data_ptr",
                "is_contiguous",
                "numel",
                "dim",
                "__len__",
                "__iter__",
            ],
            wire: ["done", "output", "Channel"],
            structure: ["flatten", "CODES", "DTYPES"],
            gpu.Cpu: ["hold"],
            child.Child: ["describe", "answer", "_hold", "_run_on_cpu", "call"],
            calls: ["_objects"],
            socket.socket: ["send", "sendmsg", "recvmsg"],
        }.items():
            for name in names:
                monkeypatch.setattr(owner, name, lie, raising=False)
        for name in ("shape", "dtype", "is_cpu", "device"):
            monkeypatch.setattr(torch.Tensor, name, property(lie), raising=False)

    def model(x):
        y = x + 1
        kept.append(y)
        patch()
        return y

    kept = []
    judge.ask(model, X)
    monkeypatch.undo()
    assert judge.answer() == [row(kept[0])]
    assert not touched and torch.equal(kept[0], X + 1)


def test_a_lying_subclass_is_believed_no_more_than_before(judge):
    """It passes through Python, and is read where it says: from outside, by the kernel."""

    class Liar(torch.Tensor):
        def data_ptr(self):
            return 4096

    judge.ask(lambda x: (x + 1).as_subclass(Liar), X)
    assert judge.answer()[0][0] == 4096


class QueuingGpu:
    """What runs_ahead asks of a GPU and a clock: calls are issued, and computed in their order."""

    def __init__(self, monkeypatch, issue_ms, compute_ms, waits=False):
        self.now_ms, self.free_ms, self.calls = 0.0, 0.0, 0
        self.issue_ms, self.compute_ms, self.waits = issue_ms, compute_ms, waits
        self.marks = [self]
        monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: self.compute(cycles / 2e6))
        monkeypatch.setattr(gpu.time, "monotonic_ns", lambda: int(self.now_ms * 1e6))

    def compute(self, ms):
        self.free_ms = max(self.free_ms, self.now_ms) + ms

    def synchronize(self):
        self.now_ms = max(self.now_ms + 0.01, self.free_ms)

    def record(self):
        self.marked_ms = self.free_ms

    def query(self):
        return self.now_ms >= self.marked_ms

    def call(self):
        self.calls += 1
        self.now_ms += self.issue_ms
        self.compute(self.compute_ms)
        if self.waits:
            self.synchronize()

    def runs_ahead(self):
        return gpu.Gpu.runs_ahead(self, self.call)


@pytest.mark.parametrize("compute_ms", [0.005, 0.1, 1, 20, 500])
def test_whether_calls_run_ahead_costs_a_gpu_little(monkeypatch, compute_ms):
    """Calls of 20 ms that were queued for 4 ms of the processor's time took it 4 s."""
    device = QueuingGpu(monkeypatch, issue_ms=0.02, compute_ms=compute_ms)
    assert device.runs_ahead()
    assert device.now_ms <= 50 + 5 * compute_ms
    assert device.calls * compute_ms >= 4 or device.calls * device.issue_ms >= 4


@pytest.mark.parametrize("compute_ms", [0.005, 1, 500])
def test_calls_that_wait_for_a_gpu_run_not_ahead(monkeypatch, compute_ms):
    assert not QueuingGpu(monkeypatch, 0.02, compute_ms, waits=True).runs_ahead()


def test_what_is_drawn_before_a_call_is_not_from_pytorchs_generator():
    """A CUDA graph whose capture failed leaves a GPU's without numbers."""
    gpu.Cpu().stretch(0)
    state = torch.get_rng_state()
    torch.manual_seed(gpu.STRETCHES - 1)
    assert torch.get_rng_state().equal(state)
