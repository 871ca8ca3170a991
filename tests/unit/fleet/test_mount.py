# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from fleet.errors import FleetError
from fleet.mount import Mount, parse_mount


def test_a_mount_is_read(tmp_path):
    assert parse_mount(f"{tmp_path}:/shared/models") == Mount(tmp_path, "/shared/models")


@pytest.mark.parametrize("text", ["/srv", ":/shared", "/:models"])
def test_a_mount_without_a_folder_and_a_target_is_refused(text):
    with pytest.raises(FleetError, match=f"--mount '{text}' must be FOLDER:TARGET"):
        parse_mount(text)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FleetError, match=f"there is no folder {tmp_path}/gone"):
        parse_mount(f"{tmp_path}/gone:/shared/models")
