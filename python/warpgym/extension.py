"""torch.utils.cpp_extension without a compiler in the candidate's process.

A request to the judge (src/judge/build/extension_request.h) replaces load_inline and load. The
judge compiles the sources in a sandbox and caches the result; what comes back is imported as an
extension module.
"""

import importlib.machinery
import importlib.util
import json
import os
import re

import torch.utils.cpp_extension

from . import wire

HEADER_ENDINGS = (".h", ".hpp", ".hh", ".cuh", ".inl", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
MOST_FILES = 32


class Unsupported(Exception):
    """This machine cannot run it."""


class CompileFailed(Exception):
    """The extension does not compile; the text is the compiler's."""


def _texts(sources):
    if sources is None:
        return []
    return [sources] if isinstance(sources, (str, bytes, os.PathLike)) else list(sources)


def _bindings(functions):
    """The module that load_inline promises, behind the candidate's own lines."""
    if functions is None:
        return []
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, dict):
        if not isinstance(functions, (list, tuple)):
            raise ValueError(f"Expected 'functions' to be a list or dict, not {type(functions)}")
        functions = {name: name for name in functions}
    definitions = [
        f"m.def({json.dumps(name)}, {name}, {json.dumps(help_text)});"
        for name, help_text in functions.items()
    ]
    return ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *definitions, "}"]


def build(channel, request):
    """A descriptor of what the judge built."""
    path = os.path.join(os.getcwd(), "build.request")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(request, file)
    with open(path, "rb") as file:
        channel.send(wire.HEAD.pack(wire.BUILD, 0), [file.fileno()])
        answer, descriptors = channel.receive()
    os.unlink(path)
    _, failure = wire.BUILT_HEAD.unpack_from(answer)
    if failure:
        text = answer[wire.BUILT_HEAD.size :].split(b"\0", 1)[0].decode("utf-8", "replace")
        raise (Unsupported if failure == wire.FAILED_UNSUPPORTED else CompileFailed)(text)
    return descriptors[0]


def _flags(flags):
    return [str(flag) for flag in _texts(flags)]


modules = []  # that a candidate had built
operators = set()  # those that they registered: "namespace::name" or "namespace::name.overload"


def callables():
    """Functions and classes of extensions."""
    for module in modules:
        yield from [
            value
            for name, value in vars(module).items()
            if callable(value) and not name.startswith("__")
        ]


def packets():
    """Operators of extensions, as torch.ops has them, and their overloads."""
    for name in {name.split(".")[0] for name in operators}:
        namespace, own = name.split("::")
        packet = getattr(getattr(torch.ops, namespace), own)
        yield packet
        yield from [getattr(packet, overload) for overload in packet.overloads()]


def _import(name, descriptor, is_python_module):
    known = set(torch._C._dispatch_get_all_op_names())
    try:
        return _load(name, descriptor, is_python_module)
    finally:
        operators.update(set(torch._C._dispatch_get_all_op_names()) - known)


def _load(name, descriptor, is_python_module):
    path = os.path.join(os.getcwd(), name + ".so")
    with os.fdopen(descriptor, "rb") as built, open(path, "wb") as out:
        out.write(built.read())
    if not is_python_module:
        torch.ops.load_library(path)
        return path
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    modules.append(module)
    return module


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _with_headers(sources, folders):
    """The sources and every header of the candidate's own that they lead to, by plain names."""
    texts = {}
    waiting = [os.path.abspath(source) for source in sources]
    while waiting:
        path = waiting.pop()
        name = os.path.basename(path)
        if name in texts:
            continue
        texts[name] = _read(path)
        if len(texts) > MOST_FILES:
            raise CompileFailed(f"an extension has at most {MOST_FILES} files")
        for included in INCLUDE.findall(texts[name]):
            for folder in [os.path.dirname(path), *folders]:
                found = os.path.join(folder, included)
                if included.endswith(HEADER_ENDINGS) and os.path.isfile(found):
                    texts[name] = texts[name].replace(
                        f'"{included}"', f'"{os.path.basename(included)}"'
                    )
                    waiting.append(os.path.abspath(found))
                    break
    return texts


def _own_folders(paths):
    """Where the candidate may have headers of its own: everything else is searched anyway."""
    scratch = os.path.join(os.path.realpath(os.getcwd()), "")
    return [
        path
        for path in map(os.path.realpath, _texts(paths))
        if os.path.join(path, "").startswith(scratch)
    ]


def install(channel):
    """Replaces the loader for this process."""

    def request(name, files, headers, keywords):
        descriptor = build(
            channel,
            {
                "kind": "extension",
                "name": name,
                "files": [{"name": file, "text": text} for file, text in files.items()],
                "headers": headers,
                "cuda": bool(keywords.get("with_cuda")),
                "cflags": _flags(keywords.get("extra_cflags")),
                "cuda_cflags": _flags(keywords.get("extra_cuda_cflags")),
                "ldflags": _flags(keywords.get("extra_ldflags")),
            },
        )
        return _import(name, descriptor, keywords.get("is_python_module", True))

    def load_inline(  # noqa: PLR0917 - PyTorch's own order
        name,
        cpp_sources,
        cuda_sources=None,
        sycl_sources=None,
        functions=None,
        no_implicit_headers=False,
        **keywords,
    ):
        if sycl_sources:
            build(channel, {"kind": "sycl"})
        files = {"main.cpp": "\n".join(_texts(cpp_sources) + _bindings(functions)) + "\n"}
        if _texts(cuda_sources):
            files["cuda.cu"] = "\n".join(_texts(cuda_sources)) + "\n"
        return request(name, files, not no_implicit_headers, keywords)

    def load(name, sources, **keywords):
        folders = _own_folders(keywords.get("extra_include_paths"))
        files = _with_headers([os.fspath(source) for source in _texts(sources)], folders)
        return request(name, files, False, keywords)

    torch.utils.cpp_extension.load_inline = load_inline
    torch.utils.cpp_extension.load = load
