# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inert stand-ins for packages that SGLang imports at start and never calls on a CPU.

SGLang imports them without a fallback, so a missing one ends the start. Each of them saves a large or GPU-only
installation. A stand-in can be imported, subclassed, subscripted and used as a decorator; calling it for a result
raises, so that no test can pass on a made-up value.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import types

import kernels

REASONS = {
    "sgl_kernel": "CUDA kernels; the few that a CPU run needs are in kernels.py",
    "triton": "GPU compiler, 1 GB; its decorators are applied at import, its kernels never run",
    "torch_memory_saver": "frees GPU memory between requests",
}

# Called with options, these return a decorator: @triton.autotune(configs=...)
MAKE_DECORATORS = ("triton.jit", "triton.autotune", "triton.heuristics")


class Inert:
    """Any attribute of a stand-in module: a function or a constant."""

    def __init__(self, name="inert", *_ignored):
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Inert(f"{self.__name__}.{attribute}")

    def __getitem__(self, index):
        return self  # a type hint such as Tensor[int]

    def __or__(self, other):
        return self  # a type hint such as X | None

    __ror__ = __or__
    __iter__ = None  # or __getitem__ would make it an endless sequence

    def __mro_entries__(self, bases):
        return (object,)  # used as a base class

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]  # used as a decorator: @triton.jit
        if self.__name__ in MAKE_DECORATORS:
            return Inert("decorator")
        raise NotImplementedError(f"{self.__name__} is a stand-in: the real package is not installed")


class InertClass:
    """A class of a stand-in module: good for isinstance, for subclassing and for type hints."""

    def __init__(self, *args, **kwargs):
        pass

    def __class_getitem__(cls, index):
        return cls


class InertModule(types.ModuleType):
    """A module in which every name can be found."""

    __version__ = "9.9.9"  # some versions are compared with a minimum at import

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        name = f"{self.__name__}.{attribute}"
        value = type(attribute, (InertClass,), {}) if _looks_like_a_class(attribute) else Inert(name)
        setattr(self, attribute, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages in REASONS and everything below them."""

    def find_spec(self, name, path, target=None):
        if _package(name) in REASONS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return InertModule(spec.name)

    def exec_module(self, module):
        if _package(module.__name__) == "sgl_kernel":
            kernels.fill(module)
        if module.__name__ == "triton.language":
            module.constexpr = lambda value: value  # wraps module-level constants
        if module.__name__ == "triton.backends":
            module.backends = {}  # torch asks here which devices triton can compile for


def _package(name):
    return name.partition(".")[0]


def _looks_like_a_class(attribute):
    return attribute[0].isupper() and not attribute.isupper()
