"""Texts as modules.

KernelBench runs a problem's text and its candidate's in one namespace, and models answer with that
in mind: a class that takes a constant, a function, an import or the class Model itself from the
problem. Here the two have a process each. Where a candidate uses names that only the problem's text
defines, that text runs before the candidate's, in the candidate's module.
"""

import importlib.util
import linecache
import os
import symtable
import sys


def _tables(table):
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _names(source, file_name):
    """Those that the module defines, and those that its code reads from there."""
    module = symtable.symtable(source, file_name, "exec")
    defined, read = set(), set()
    for table in _tables(module):
        for symbol in table.get_symbols():
            if table is not module and not symbol.is_global():
                continue
            bound = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if bound:
                defined.add(symbol.get_name())
            if symbol.is_referenced():
                read.add(symbol.get_name())
    return defined, read


def borrows(source, problem):
    """Whether a candidate's text uses names that only the problem's text defines."""
    try:
        own, read = _names(source, "candidate.py")
        theirs, _ = _names(problem, "problem.py")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return not theirs.isdisjoint(read - own)


def _write(file_name, source):
    path = os.path.join(os.getcwd(), file_name)
    with open(path, "wb") as file:
        file.write(source)
    linecache.checkcache(path)
    return path


def load(file_name, source, problem=None):
    """The module of a text, which may use the names of `problem`, another text."""
    path = _write(file_name, source)
    name = file_name.removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if problem and borrows(source, problem):
        exec(compile(problem, _write("problem.py", problem.encode()), "exec"), vars(module))
    spec.loader.exec_module(module)
    return module
