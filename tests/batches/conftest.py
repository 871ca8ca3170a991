from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import scripted_fleet


@pytest.fixture(scope="session")
def collections(tmp_path_factory):
    return scripted_fleet.lay_out_scripted(tmp_path_factory.mktemp("collections"))


@pytest.fixture
def fleet(tmp_path, collections):
    return scripted_fleet.Fleet(tmp_path, collections)
