"""Which parameters held the reference's values until a candidate's constructor changed them.

A candidate gets the reference's weights in two ways: it draws them itself, after the same seed, or
the judge copies those of the same name. A constructor that has drawn them may fold a factor or an
offset into them: the copy would undo that, and so is left out. What is not seen, and is copied over
as ever: parameters that the constructor puts in the place of those that it drew, and values that
are all the same, which say nothing of how they were made.
"""

import functools

import torch

INIT = torch.nn.init
FEW = 64  # values that are drawn are not as many times the same
PLAIN = (torch.Tensor, torch.nn.Parameter)
FILL = [name for name in dir(INIT) if name.endswith("_") and not name.startswith("_")]


def _holds(tensor, value):
    first = (slice(0, 1),) * tensor.dim()  # differs in memory that is not filled yet
    equal = all(torch.equal(tensor[at].to(value.dtype), value[at]) for at in (first, ...))
    return equal and bool((value.reshape(-1)[:FEW] != value[first].reshape(-1)).any())


class Drawn:
    """Within it, parameters are compared with the reference's `values` (on the CPU, by name) when
    they are filled by torch.nn.init, or become part of a module."""

    def __init__(self, values):
        self.by_shape = {}
        for name, value in values.items():
            self.by_shape.setdefault(value.shape, []).append((name, value))
        self.held = {}  # a parameter's id: itself, so that it lives, and the names of its values

    def _note(self, tensor, names=frozenset()):
        """The names of values that it holds, beside `names`."""
        self.held.pop(id(tensor), None)
        plain = type(tensor) in PLAIN and tensor.layout is torch.strided  # no lazy parameter
        if plain and tensor.device.type == "cpu":
            values = self.by_shape.get(tensor.shape, [])
            names |= {name for name, value in values if _holds(tensor.detach(), value)}
        if names:
            self.held[id(tensor)] = tensor, names

    def _registered(self, _module, _name, parameter):
        self._note(parameter, self._names_of(parameter))

    def _names_of(self, parameter):
        return self.held.get(id(parameter), (None, frozenset()))[1]

    def _filling(self, plain):
        @functools.wraps(plain)
        def fill(tensor, *arguments, **keywords):
            result = plain(tensor, *arguments, **keywords)
            self._note(tensor)
            return result

        return fill

    def __enter__(self):
        self.plain = {name: getattr(INIT, name) for name in FILL}
        for name, plain in self.plain.items():
            setattr(INIT, name, self._filling(plain))
        hook = torch.nn.modules.module.register_module_parameter_registration_hook
        self.hook = hook(self._registered)
        return self

    def __exit__(self, *_):
        self.hook.remove()
        for name, plain in self.plain.items():
            setattr(INIT, name, plain)

    def named(self, model):
        """Names of the model's parameters that held the reference's values of these names."""
        return {
            name
            for name, parameter in model.named_parameters(remove_duplicate=False)
            if name in self._names_of(parameter)
        }
