# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stands in for the get-pip.py that ansible-test would download: pip comes from the Python itself.

ansible-test runs it in each virtual environment it makes, with the packages to install as arguments.
"""

from __future__ import annotations

import subprocess
import sys

LEFT_OUT = ("--no-setuptools", "--no-wheel")

packages = [argument for argument in sys.argv[1:] if argument not in LEFT_OUT]
subprocess.check_call([sys.executable, "-m", "ensurepip"])
subprocess.check_call([sys.executable, "-m", "pip", "install", *packages])
