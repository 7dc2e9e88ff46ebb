"""torch.utils.cpp_extension without a compiler in the candidate's process.

load_inline and load are replaced by a request to the judge, which compiles the C++ in a box of its
own with fixed flags and keeps the result; what comes back is imported as an extension module.
"""

import importlib.machinery
import importlib.util
import json
import os

import torch.utils.cpp_extension

from . import wire


class Unsupported(Exception):
    """This machine cannot run it."""


class CompileFailed(Exception):
    """The extension does not compile; the text is the compiler's."""


def _texts(sources):
    if sources is None:
        return []
    return [sources] if isinstance(sources, str) else list(sources)


def _module_source(sources, functions):
    """One translation unit with the bindings that load_inline promises."""
    text = ["#include <torch/extension.h>"] + sources
    if functions is not None:
        if isinstance(functions, str):
            functions = [functions]
        if not isinstance(functions, dict):
            functions = {name: name for name in functions}
        text.append("PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {")
        for name, help_text in functions.items():
            text.append(f"  module.def({json.dumps(name)}, &{name}, {json.dumps(help_text)});")
        text.append("}")
    return "\n".join(text) + "\n"


def _build(channel, name, source):
    path = os.path.join(os.getcwd(), name + ".request")
    with open(path, "w", encoding="utf-8") as request:
        json.dump({"kind": "extension", "name": name, "source": source}, request)
    with open(path, "rb") as request:
        channel.send(wire.HEAD.pack(wire.BUILD, 0), [request.fileno()])
        answer, descriptors = channel.receive()
    os.unlink(path)
    _, fine = wire.BUILT_HEAD.unpack_from(answer)
    if not fine:
        text = answer[wire.BUILT_HEAD.size :].split(b"\0", 1)[0].decode("utf-8", "replace")
        raise CompileFailed(text)
    path = os.path.join(os.getcwd(), name + ".so")
    with os.fdopen(descriptors[0], "rb") as built, open(path, "wb") as out:
        out.write(built.read())
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def install(channel):
    """Replaces the loader for this process."""

    def load_inline(name, cpp_sources=None, cuda_sources=None, functions=None, **_ignored):
        if _texts(cuda_sources):
            raise Unsupported("a CUDA extension needs a GPU, and this machine has none")
        return _build(channel, name, _module_source(_texts(cpp_sources), functions))

    def load(name, sources, **_ignored):
        texts = []
        for source in _texts(sources):
            if source.endswith((".cu", ".cuh")):
                raise Unsupported("a CUDA extension needs a GPU, and this machine has none")
            with open(source, encoding="utf-8") as file:
                texts.append(file.read())
        return _build(channel, name, _module_source(texts, None))

    torch.utils.cpp_extension.load_inline = load_inline
    torch.utils.cpp_extension.load = load
