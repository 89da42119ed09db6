"""Functions with a planted mistake, for negative controls.

A snippet is matched by its syntax tree, so that spacing, line breaks and brackets do not matter. It
is one expression, or one or more consecutive statements. In it, ``...`` stands for any expression:
``mutated(f, "... + tail", "...")`` forgets to add the tail.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import textwrap

import numba
from numba.core.dispatcher import Dispatcher

from graphuq.utils.jit import Kernel


def mutated(function, right, wrong, every=False):
    """Return a copy of ``function`` in which ``wrong`` stands in place of ``right``.

    Parameters
    ----------
    function : function, numba dispatcher or Kernel
        The copy is of the same kind.
    right, wrong : str
    every : bool
        Whether ``right`` may occur more than once; each occurrence is replaced.
    """
    tree = _parse(_plain(function))
    pattern, replacement = _snippet(right), _snippet(wrong)
    assert isinstance(pattern, list) == isinstance(replacement, list), (
        f"expected two expressions or two statements, got {right!r} and {wrong!r}"
    )
    swap = _Swap(pattern, replacement)
    tree = swap.visit(tree)
    assert swap.found == 1 or (every and swap.found), (
        f"expected {right!r} {'at least ' * every}once in {tree.name}, found it {swap.found} "
        f"times:\n{ast.unparse(_parse(_plain(function)))}"
    )
    return _rebuilt(function, tree)


def recompiled(function):
    """Return a copy of ``function`` that looks its globals up again."""
    return _rebuilt(function, _parse(_plain(function)))


def plant(monkeypatch, module, name, right, wrong, *, callers=(), every=False):
    """Replace a function of ``module`` by its mutant, for one test.

    ``callers`` names compiled functions of the module that call it, and so must be compiled again.
    """
    monkeypatch.setattr(module, name, mutated(getattr(module, name), right, wrong, every))
    for caller in callers:
        monkeypatch.setattr(module, caller, recompiled(getattr(module, caller)))


def _plain(function):
    if isinstance(function, Kernel):
        return function._function
    return function.py_func if isinstance(function, Dispatcher) else function


def _parse(function):
    """Return the syntax tree of a function without its decorators."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    tree.decorator_list = []
    return tree


def _rebuilt(original, tree):
    """Compile the tree in the globals of the original, and wrap it likewise."""
    function = _plain(original)
    module = ast.fix_missing_locations(ast.Module([tree], []))
    code = compile(module, f"<mutant of {tree.name}>", "exec", __future__.annotations.compiler_flag)
    namespace = dict(function.__globals__)
    exec(code, namespace)
    copied = namespace[tree.name]
    if isinstance(original, Kernel):
        return Kernel(original._signature, copied, original._fastmath)
    if isinstance(original, Dispatcher):
        flags = {"error_model", "fastmath"} & original.targetoptions.keys()
        return numba.njit(**{flag: original.targetoptions[flag] for flag in flags})(copied)
    return copied


def _snippet(text):
    """Return an expression's node, or the list of statements."""
    body = ast.parse(textwrap.dedent(text)).body
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else body


def _is_wildcard(node):
    return isinstance(node, ast.Constant) and node.value is ...


def _matches(pattern, node, wild):
    """Whether ``node`` is as the pattern says; what wildcards stand for is added to ``wild``."""
    if _is_wildcard(pattern) and isinstance(node, ast.expr):
        wild.append(node)
        return True
    if isinstance(pattern, list):
        return (
            isinstance(node, list)
            and len(pattern) == len(node)
            and all(_matches(p, n, wild) for p, n in zip(pattern, node, strict=True))
        )
    if not isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and pattern == node
    return type(pattern) is type(node) and all(
        _matches(getattr(pattern, field), getattr(node, field), wild)
        for field in pattern._fields
        if field not in ("ctx", "kind", "type_comment")
    )


class _Fill(ast.NodeTransformer):
    """Put the expressions in place of wildcards, in their order."""

    def __init__(self, wild):
        self.wild = iter(wild)

    def visit_Constant(self, node):
        return copy.deepcopy(next(self.wild)) if node.value is ... else node


class _Swap(ast.NodeTransformer):
    """Replace what matches a pattern, and count it in ``found``."""

    def __init__(self, pattern, replacement):
        self.pattern, self.replacement, self.found = pattern, replacement, 0

    def _filled(self, wild):
        self.found += 1
        fill, new = _Fill(wild), copy.deepcopy(self.replacement)
        return [fill.visit(node) for node in new] if isinstance(new, list) else fill.visit(new)

    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(self.pattern, list):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(block := getattr(node, field, None), list):
                    setattr(node, field, self._in_block(block))
            return node
        wild = []
        return self._filled(wild) if _matches(self.pattern, node, wild) else node

    def _in_block(self, block):
        size, new = len(self.pattern), []
        while block:
            wild = []
            if _matches(self.pattern, block[:size], wild):
                new += self._filled(wild)
                block = block[size:]
            else:
                new.append(block[0])
                block = block[1:]
        return new
