"""What the inputs and outputs of a PyTorch problem may be: complex tensors, numbers that are no
tensors, and what is refused with its reason, never as the machine's failure."""

import pytest
from support import SOME_FAILED, write, write_lines

pytest.importorskip("torch")

MODULE = """import torch


class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.phase = torch.nn.Parameter(torch.randn(8, dtype=torch.complex64))

    def forward(self, x, k):
        {forward}


def get_inputs():
    return [torch.randn(16, 8, dtype=torch.{dtype}), {k}]


def get_init_inputs():
    return []
"""

# name: (dtype of x, second input, what the problem returns, what a candidate does, its verdict)
ROWS = {
    "complex": ("complex64", "2", "torch.fft.fft(x) * self.phase", None, "passed"),
    "complex128": ("complex128", "2", "x * x + k", "(x + 0j) * x + k", "passed"),
    "complex number in": ("complex64", "2 - 1j", "x * k", "k * x", "passed"),
    "real to complex": ("float32", "2", "torch.fft.rfft(x)", "torch.fft.fft(x)[:, :5]", "passed"),
    "complex to real": ("complex64", "2", "x.abs()", "torch.sqrt(x.real**2 + x.imag**2)", "passed"),
    "lazy conjugate": ("complex64", "2", "x.conj()", "torch.complex(x.real, -x.imag)", "passed"),
    "lazy sign": ("complex64", "2", "x.conj().imag", "-x.imag", "passed"),
    "not conjugated": ("complex64", "2", "x.conj()", "x.clone()", "wrong"),
    "pairs": ("complex64", "2", "x + x", "torch.view_as_real(x + x)", "wrong"),
    "narrower": ("complex128", "2", "x + x", "(x + x).to(torch.complex64)", "wrong"),
    "imprecise": ("complex64", "2", "x * x", "(x * x) * (1 + 1e-3j)", "wrong"),
    "float": ("float32", "2", "x + k, x.sum().item()", "k + x, float(x.sum())", "passed"),
    "wrong float": ("float32", "2", "x + k, x.abs().sum().item()", "x + k, 0.0", "wrong"),
    "int": ("float32", "2", "{'y': x * k, 'n': x.shape[0] * k, 'none': None}",
            "{'y': k * x, 'n': 16 * k, 'none': None}", "passed"),
    "wrong int": ("float32", "2", "x * k, x.shape[0]", "x * k, 17", "wrong"),
    "bool": ("float32", "True", "x * 2, bool(k)", "x + x, k", "passed"),
    "bool for int": ("float32", "2", "x * 2, 1", "x + x, True", "wrong"),
    "complex number": ("complex64", "2", "2 * x, complex(x[0, 0])", "x + x, x[0, 0].item()",
                       "passed"),
    "text": ("float32", "2", "x, 'y'", "x.clone(), 'y'", "unsupported"),
    "text of a candidate": ("float32", "2", "x + x", "'y'", "runtime_error"),
    "sparse": ("float32", "2", "x.to_sparse()", "x.to_sparse()", "unsupported"),
    "eight bits": ("float32", "2", "x.to(torch.float8_e5m2)", None, "unsupported"),
    "object in": ("float32", "object()", "x + x", None, "unsupported"),
}  # fmt: skip

SAYS = {
    "not conjugated": "elements are wrong",
    "pairs": "is float32[16, 8, 2], the reference's is complex64[16, 8]",
    "narrower": "is complex64[16, 8], the reference's is complex128[16, 8]",
    "bool for int": "is bool[], the reference's is int64[]",
    "text": "cannot be judged: forward returned str, not tensors or numbers",
    "text of a candidate": "forward returned str, not tensors or numbers",
    "sparse": "torch.sparse_coo",
    "eight bits": "tensors of torch.float8_e5m2 are not supported",
    "object in": "inputs of type object cannot be handed to a candidate",
}


@pytest.fixture(scope="module")
def judged(module_warpgym):
    folder = module_warpgym.folder
    lines = []
    for name, (dtype, k, problem, candidate, _) in ROWS.items():
        file = name.replace(" ", "_") + ".py"
        texts = {"dtype": dtype, "k": k}
        write(
            folder / "problems" / file,
            MODULE.format(name="Model", forward=f"return {problem}", **texts),
        )
        write(
            folder / file,
            MODULE.format(name="ModelNew", forward=f"return {candidate or problem}", **texts),
        )
        lines.append({"problem": f"problems/{file}", "candidate": file})
    run = module_warpgym.eval("--no-timing", write_lines(folder / "batch.jsonl", lines))
    assert run.status == SOME_FAILED, run.err
    return dict(zip(ROWS, run.verdicts, strict=True))


@pytest.mark.parametrize("name", ROWS)
def test_value(judged, name):
    verdict = judged[name]
    assert verdict["status"] == ROWS[name][-1], verdict["error"]
    if name in SAYS:
        assert SAYS[name] in verdict["error"]["message"]
