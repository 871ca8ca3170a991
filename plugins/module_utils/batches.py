# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: hosts cut into batches as Ansible's ``serial`` does (ansible/executor/playbook_executor.py, core 2.17-2.21).

No batch ends inside a group of hosts that serve one model together.
"""

from __future__ import annotations

import re

_SIZE = re.compile(r"^[1-9][0-9]*%?$")


def sizes(value):
    """``mtp_batches`` as a list of sizes. The command line gives it as text, such as ``1,50%`` or ``[1, "50%"]``.

    :raises ValueError: for anything that is no size; the text names the variable and the way out.
    """
    if isinstance(value, str):
        value = [size.strip(" \"'") for size in value.strip(" []").split(",")]
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    wrong = [size for size in given if not _SIZE.match(str(size))]
    if wrong or not given:
        raise ValueError(
            "mtp_batches is %r: give numbers of hosts or shares such as 10%%, for example 1,10%%,50%%" % value
        )
    return [size if str(size).endswith("%") else int(size) for size in given]


def cut(hosts, sizes, groups=None):
    """The batches in their order.

    :arg sizes: one size or a list of them, each a number or a share such as ``10%`` (of all hosts, at least one host).
        The last one counts for all further batches; 0 or less takes all that are left.
    :arg groups: hosts that belong to a group to its name; a batch that would end inside one takes the rest of it too.
    """
    sizes = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    batches = []
    left = list(hosts)
    while left:
        size = _number(sizes[min(len(batches), len(sizes) - 1)], len(hosts)) if sizes else 0
        size = _to_the_end_of_a_group(left, size if size > 0 else len(left), groups or {})
        batches.append(left[:size])
        left = left[size:]
    return batches


def batch_of(host, batches):
    """Number of the batch that holds the host, counted from 1."""
    return next(number for number, batch in enumerate(batches, 1) if host in batch)


def _number(size, count):
    text = str(size).strip()
    if text.endswith("%"):
        return int(float(text[:-1]) / 100.0 * count) or 1
    return int(text)


def _to_the_end_of_a_group(hosts, size, groups):
    while size < len(hosts) and groups.get(hosts[size]) and groups.get(hosts[size]) == groups.get(hosts[size - 1]):
        size += 1
    return size
