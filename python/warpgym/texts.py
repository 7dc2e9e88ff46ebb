"""Texts as modules.

KernelBench runs a problem's text and its candidate's in one namespace, and models answer with that
in mind: a class that takes a constant, a function or an import from the problem. Here the two have
a process each. Where a candidate uses names that only the problem's text defines, what the problem
lends runs before the candidate's text, in the candidate's module: all but the reference itself.
"""

import ast
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


class _Without(ast.NodeTransformer):
    """What stands at a module's level, without the definitions and uses of some names."""

    def __init__(self, names):
        self.names = names

    def visit_ClassDef(self, node):
        return None if node.name in self.names else node

    def visit_FunctionDef(self, node):
        return None if node.name in self.names else node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node):
        stored = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        return None if stored & self.names else node

    visit_AnnAssign = visit_AugAssign = visit_Expr = visit_Assign


def _is_of(value, entry):
    """A reference's class, one that it inherits from, one that inherits from it, or one of it."""
    if isinstance(value, type) and isinstance(entry, type):
        return issubclass(value, entry) or value in entry.__mro__
    return value is entry or (isinstance(entry, type) and isinstance(value, entry))


def lent(source, module, entry_point):
    """A problem's text without its reference: the entry point, and what else of the module is that
    class or of its own family. Functions stay that would make one: they fail if they are called."""
    entry = getattr(module, entry_point)
    names = {
        name for name, value in vars(module).items()
        if getattr(value, "__module__", module.__name__) == module.__name__
        and _is_of(value, entry)
    }  # fmt: skip
    tree = _Without(names | {entry_point, "get_inputs", "get_init_inputs"}).visit(ast.parse(source))
    for node in ast.walk(tree):  # an `if` whose only statement is gone
        if isinstance(node, ast.stmt) and getattr(node, "body", True) == []:
            node.body.append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(tree))


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
