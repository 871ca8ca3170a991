# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes an unmodified SGLang run on a machine with no GPU and without its GPU packages.

Python imports a module of this name by itself at start, in every process, when its folder is on PYTHONPATH. SGLang
starts several processes with ``spawn``, so this is the one place that reaches all of them. SGLang's own files are not
touched.

Nothing that is installed is replaced: the finder of absent packages stands at the end of the import path, so Python
asks it only for a module that it could not find anywhere else.
"""

from __future__ import annotations

import sys

import absent_packages
import after_import

sys.meta_path.append(absent_packages.Finder())
sys.meta_path.insert(0, after_import.Finder())
