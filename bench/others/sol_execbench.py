"""SOL-ExecBench's evaluation on one candidate: sol_execbench.py CHECKOUT PROBLEM CANDIDATE

Its driver runs as its command-line tool starts it, in a folder with the definition, one workload
that has inputs of the problem's own, and the solution: ten rounds with new inputs, then the times,
with the tolerance that it has by default.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from answer import answer, arguments, module_of

SEED = 42
LIMIT_S = 150
RUN = f"""

_model = None


def run({{names}}):
    global _model
    with torch.no_grad():
        if _model is None:
            torch.manual_seed({SEED})
            _model = {{model}}(*{{init}}).to(x0.device)
        return _model({{names}})
"""
INPUTS = """

def inputs_of_the_problem(axes, device):
    return {f"x{i}": one.to(device) for i, one in enumerate(get_inputs())}
"""


def described(tensor):
    return {"shape": [f"n{n}" for n in tensor.shape], "dtype": str(tensor.dtype).split(".")[1]}


checkout, problem, candidate = arguments()
folder = Path(tempfile.mkdtemp(prefix="sol-execbench-"))
module = module_of(problem)
inputs = module.get_inputs()
with torch.no_grad():
    output = module.Model(*module.get_init_inputs())(*inputs)
names = ", ".join(f"x{i}" for i in range(len(inputs)))


def run(model):
    return RUN.format(names=names, model=model, init=module.get_init_inputs())


text = problem.read_text(encoding="utf-8")
definition = {
    "name": "problem",
    "op_type": "kernelbench",
    "axes": {
        f"n{n}": {"type": "const", "value": n} for one in [*inputs, output] for n in one.shape
    },
    "custom_inputs_entrypoint": "inputs_of_the_problem",
    "inputs": {f"x{i}": described(one) for i, one in enumerate(inputs)},
    "outputs": {"y": described(output)},
    "reference": text + INPUTS + run("Model"),
}
workload = {
    "axes": {},
    "inputs": {f"x{i}": {"type": "custom"} for i in range(len(inputs))},
    "uuid": "one",
}
source = "import torch\n" + candidate.read_text(encoding="utf-8") + run("ModelNew")
solution = {
    "name": candidate.stem,
    "definition": "problem",
    "author": "warpgym",
    "spec": {
        "languages": ["triton" if "triton" in source else "pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": "kernel.py::run",
        "dependencies": ["torch"],
        "destination_passing_style": False,
    },
    "sources": [{"path": "kernel.py", "content": source}],
}
shutil.copy(
    checkout / "src" / "sol_execbench" / "driver" / "templates" / "eval_driver.py", folder
)
(folder / "definition.json").write_text(json.dumps(definition), encoding="utf-8")
(folder / "workload.jsonl").write_text(json.dumps(workload) + "\n", encoding="utf-8")
(folder / "solution.json").write_text(json.dumps(solution), encoding="utf-8")
(folder / "kernel.py").write_text(source, encoding="utf-8")
paths = [str(checkout / "src"), os.environ.get("PYTHONPATH", "")]
done = subprocess.run(
    [sys.executable, "eval_driver.py"],
    cwd=folder,
    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    capture_output=True,
    text=True,
    timeout=LIMIT_S,
    check=False,
)
shutil.rmtree(folder, ignore_errors=True)
lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
if not lines:
    answer(False, None, done.stderr[-300:] or f"no trace, exit status {done.returncode}")
found = json.loads(lines[-1])["evaluation"]
passed = found["status"] == "PASSED"
speedup = (found.get("performance") or {}).get("speedup_factor") if passed else None
answer(passed, speedup, f"{found['status']} {found.get('log') or ''}")
