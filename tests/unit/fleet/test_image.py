# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import shutil

import pytest

from fleet import image


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    folder = shutil.copytree(image.RECIPE, tmp_path / "image")
    monkeypatch.setattr(image, "RECIPE", folder)
    return folder


def test_suites_have_images_of_their_own():
    assert image.image_name("bookworm") != image.image_name("trixie")


def test_the_same_recipe_in_another_checkout_is_the_same_image(recipe):
    copied = image.image_name("trixie")
    (recipe / "customize").write_bytes((recipe / "customize").read_bytes() + b"true\n")
    assert image.image_name("trixie") != copied
    shutil.copy(image.CUSTOMIZE, recipe)
    assert image.image_name("trixie") == copied
