"""Cases instead of a reference (src/problem/simple.h): read from the module that brings them, sent
to the judge as JSON and tensors, and answered by a child that runs none of their text.
"""

import torch

from . import structure

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # defaults of a case


class Case:
    """A case in the answering child. `public` is what the candidate may know."""

    def __init__(self, inputs, expected, public):
        self.inputs = inputs
        self.expected = expected
        self.public = public


def _arguments(inputs):
    return inputs if isinstance(inputs, (list, tuple, dict)) else [inputs]


def _normal(case, number):
    """(name, inputs, expected outputs, relative, absolute) of a case in any of its forms."""
    name = f"case_{number}"
    if not isinstance(case, dict):
        return name, _arguments(case), None, RELATIVE, ABSOLUTE
    inputs = case["inputs"] if "inputs" in case else case.get("input", [])
    expected = case["outputs"] if "outputs" in case else case.get("output")
    relative, absolute = case.get("rtol"), case.get("atol")
    return (
        str(case.get("name") or name),
        _arguments(inputs),
        expected,
        RELATIVE if relative is None else float(relative),
        ABSOLUTE if absolute is None else float(absolute),
    )


def read(module):
    """All cases of a module, normalised."""
    found = list(module.get_cases()) if hasattr(module, "get_cases") else [module.get_inputs()]
    if not found:
        raise ValueError("get_cases() returned no case")
    return [_normal(case, number) for number, case in enumerate(found)]


def _has_tensor(value):
    if isinstance(value, dict):
        return any(_has_tensor(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_has_tensor(item) for item in value)
    return isinstance(value, torch.Tensor)


def _numbers(value):
    """Numbers, and lists of them, as one tensor: Python's == compares them across types."""
    return torch.as_tensor(value, dtype=torch.float64)


def take_apart(found, compared):
    """JSON of the cases, and their tensors by name."""
    described, named, inputs_so_far, expected_so_far = [], [], 0, 0
    for name, inputs, expected, relative, absolute in found:
        tensors, answers, plain = [], [], False
        form = structure.take_apart(inputs, tensors)
        if expected is not None and compared:
            plain = not _has_tensor(expected)
            answers = [_numbers(expected)] if plain else structure.flatten(expected)
        described.append(
            {
                "name": name,
                "inputs": form,
                "tensors": len(tensors),
                "expected": len(answers),
                "plain": plain,
                "relative": relative,
                "absolute": absolute,
            }
        )
        named += [(f"<input {inputs_so_far + i}>", tensor) for i, tensor in enumerate(tensors)]
        named += [(f"<answer {expected_so_far + i}>", tensor) for i, tensor in enumerate(answers)]
        inputs_so_far += len(tensors)
        expected_so_far += len(answers)
    return described, named


def put_together(described, values):
    """The inverse of take_apart: a list of Case."""
    inputs = structure.numbered(values, "input")
    answers = structure.numbered(values, "answer")
    made = []
    for case in described:
        mine, inputs = inputs[: case["tensors"]], inputs[case["tensors"] :]
        expected, answers = answers[: case["expected"]], answers[case["expected"] :]
        public = {"compared": case["expected"] > 0, "plain": case["plain"]}
        made.append(Case(structure.put_together(case["inputs"], mine), expected, public))
    return made


class Answers:
    """The cases' expected outputs, as new tensors at each call."""

    def __init__(self, made):
        self.made = made

    def __call__(self, *inputs):
        return [tensor.clone() for case in self.made[: len(inputs)] for tensor in case.expected]


class Runner:
    """A candidate on each of its cases in turn."""

    def __init__(self, model, public, device):
        self.model = model
        self.public = public
        self.device = device

    def __call__(self, *inputs):
        outputs = []
        for case, mine in zip(self.public, inputs, strict=False):
            result = self.model(**mine) if isinstance(mine, dict) else self.model(*mine)
            if case["compared"]:
                outputs.append(_numbers(result).to(self.device) if case["plain"] else result)
        return outputs
