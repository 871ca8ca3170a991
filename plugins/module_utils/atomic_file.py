# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writer: a file that is replaced in one step, so that a reader sees all of the new text or all of the old."""

from __future__ import annotations

import os
import tempfile


def replace(path, text, mode=0o600, written_at=None):
    """Write ``text`` to ``path``; when that fails, the old file stays and nothing is left beside it.

    :arg mode: the file's permissions. ``written_at``: its time, in seconds since the epoch; now when it is None.
    :raises OSError: when the folder is missing or can't be written.
    """
    handle, draft = tempfile.mkstemp(prefix=".draft-", dir=os.path.dirname(path) or ".")
    try:
        # Surrogates stand for bytes that are no UTF-8: a unit edited by hand may hold them.
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        os.chmod(draft, mode)
        if written_at is not None:
            os.utime(draft, (written_at, written_at))
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
