# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stand-in for an absent package may be imported and decorated with; a result must never come out of it."""

from __future__ import annotations

import sys

import absent_packages
import pytest


@pytest.fixture
def triton(monkeypatch):
    finder = absent_packages.Finder()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    import triton
    import triton.language

    yield triton
    for name in [name for name in sys.modules if name.split(".")[0] == "triton"]:
        del sys.modules[name]


def test_it_decorates_with_and_without_options(triton):
    def kernel():
        pass

    assert triton.jit(kernel) is kernel
    assert triton.autotune(configs=[], key=[])(kernel) is kernel


def test_it_serves_as_a_base_class_and_as_a_type(triton):
    class Config(triton.Config):
        pass

    assert isinstance(Config(), triton.Config)
    assert triton.language.tensor[int].__name__ == "triton.language.tensor"
    assert (triton.language.tensor | None).__name__ == "triton.language.tensor"


def test_it_computes_nothing(triton):
    with pytest.raises(NotImplementedError, match=r"triton\.cdiv is a stand-in"):
        triton.cdiv(7, 2)


def test_no_other_package_is_found():
    assert absent_packages.Finder().find_spec("tritonic", None) is None
