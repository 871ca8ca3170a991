from __future__ import annotations

import pathlib

import pytest
import yaml

ROLE = pathlib.Path(__file__).parents[3] / "roles" / "mtp"


def load(path):
    return yaml.safe_load((ROLE / path).read_text(encoding="utf-8"))


SPECS = load("meta/argument_specs.yml")["argument_specs"]["main"]["options"]
DEFAULTS = load("defaults/main.yml")


def test_every_default_has_a_specification_and_the_other_way_round():
    assert set(SPECS) == set(DEFAULTS)


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_specification_states_the_default_that_is_in_force(name):
    assert SPECS[name]["default"] == DEFAULTS[name]


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_variable_carries_the_roles_prefix_and_a_description(name):
    assert name.startswith("mtp_")
    assert SPECS[name]["description"]
