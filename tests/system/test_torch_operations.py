"""What takes part in PyTorch's operations does not load PyTorch's compiler, and is left alone by it
where a reference has it loaded."""

import os
import subprocess
import sys

import pytest
from support import CHECKOUT

torch = pytest.importorskip("torch")

LOOKS = '''
import sys, torch
from warpgym import ablation, child, choices, promises, rounding
def draw():
    slot[0].normal_()
slot = [torch.empty(8, 8)]
promises.look(slot, draw)
rounding.run(torch.sin, slot)
choices.look(lambda x: x.topk(3)[1], slot)
with rounding.Rounded(1e-3, 1, "cpu") as mode:
    mode_sees = torch.sin(slot[0].double())
with ablation._Operators(()):
    slot[0].sin()
assert mode.entered > 0
class Channel:
    def send(self, message):
        self.sent = message
sized = child.Child(Channel())
sized.open_sizes(b"""
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.randn(8, 1, generator=torch.Generator()))
def get_inputs():
    return [torch.randn(8, 8, dtype=torch.float64)]
def get_init_inputs():
    return []
""")
assert int.from_bytes(sized.channel.sent[-8:], "little") == 32
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
'''


def test_the_compiler_is_not_loaded(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT / "python")}
    done = subprocess.run(
        [sys.executable, "-c", LOOKS],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "[]\n", done.stderr


def test_within_what_is_compiled():
    """Neither the function, as PyTorch has it, nor what the mode does becomes a graph."""
    from warpgym import rounding

    graphs = []

    def backend(graph, _):
        graphs.append([node.target for node in graph.graph.nodes if node.op == "call_function"])
        return graph

    compiled = torch.compile(torch.relu, backend=backend)
    ones = torch.ones(50, dtype=torch.float64)
    with torch.no_grad(), rounding.Rounded(1e-3, 1, "cpu") as mode:
        result = compiled(ones)
    assert mode.entered == 1.0 and result.allclose(ones, rtol=1e-3) and not result.equal(ones)
    assert graphs == []


def noise_of(model, inputs):
    """Of its output, as the reference measures it on these inputs."""
    from warpgym import rounding

    *_, (noise, most) = rounding.measure((model, model), ([inputs.double()], [inputs]), "cpu")
    assert noise <= most
    return noise


def test_elements_that_are_held_at_zero_dilute_no_noise():
    inputs = torch.randn(64, 10, generator=torch.Generator().manual_seed(1))

    def among(zeros):
        return lambda x: torch.nn.functional.pad(x.sum(1, keepdim=True), (0, zeros))

    assert noise_of(among(1), inputs) > 0
    assert noise_of(among(9999), inputs) == pytest.approx(noise_of(among(1), inputs), rel=1e-6)
    assert noise_of(lambda x: torch.relu(x.sum(1) - 100), inputs) == 0


def test_few_steps_are_no_rounding_of_the_rest():
    """One element in a million is in the next step at double precision: of that, and of what it
    is among all, counts what is the less."""
    from warpgym import rounding

    wide = torch.ones(1_000_000, dtype=torch.float64)
    plain = wide.float()
    plain[0] = 2
    noise, most = rounding.allowance(lambda x: x * 1, [wide], [wide], [plain], 0)
    assert most == pytest.approx(1e-4, rel=1e-3)
    assert noise == pytest.approx(rounding.OWN / 1000)
