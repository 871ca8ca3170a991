# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""plant_get_pip.py HOME: puts the stand-in for get-pip.py where ansible-test looks before it downloads.

ansible-test fetches get-pip.py from a file server of its own, no package registry; with this it needs PyPI alone.
The file's name carries the release of pip that ansible-test wants, which ansible-test itself is asked for.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

from ansible_test._internal.python_requirements import get_venv_packages
from ansible_test._util.target.common.constants import CONTROLLER_PYTHON_VERSIONS, REMOTE_ONLY_PYTHON_VERSIONS

cache = Path(sys.argv[1], ".ansible", "test", "cache")
cache.mkdir(parents=True, exist_ok=True)
for version in REMOTE_ONLY_PYTHON_VERSIONS + CONTROLLER_PYTHON_VERSIONS:
    pip = get_venv_packages(SimpleNamespace(version=version))["pip"]
    shutil.copy(Path(__file__).with_name("get_pip_stand_in.py"), cache / f"get_pip_{pip.replace('.', '_')}.py")
