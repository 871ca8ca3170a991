# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tests against real routers share."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


TABLE = pytest.StashKey()


def pytest_configure(config):
    """Make this checkout importable as the collection, unless one is already."""
    config.stash[TABLE] = []
    if importlib.util.find_spec("ansible_collections") is None:
        root = config.rootpath / ".build" / "routers"
        link = root / "ansible_collections" / "llmops" / "sglang"
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(HERE.parents[1])
        sys.path.insert(0, str(root))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("routers")


@pytest.fixture
def table(request):
    """A list of lines that is printed when all tests have run."""
    return request.config.stash[TABLE]


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash[TABLE]:
        terminalreporter.write_line(line)
