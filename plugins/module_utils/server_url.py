# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: at which URL the server of another unit is asked, told from the URL of the one that was to run."""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import urlsplit

from ansible_collections.llmops.sglang.plugins.module_utils import unit_file

_TLS_FLAG = re.compile(r"\s--ssl-certfile[=\s]")
# Where a server is asked that listens on every address, or names none (SGLang's default, server_args.py).
LOOPBACK = "127.0.0.1"
ASKED_AT_LOOPBACK = ("0.0.0.0", "::", "")


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Where a server listens. ``host`` is ``""`` and ``port`` 0 where its command line names none.

    With a ``node_rank`` above 0 only a dummy listens there.
    """

    host: str
    port: int
    tls: bool
    node_rank: int = 0

    @classmethod
    def of(cls, text):
        """From a unit's text, or from its command line."""
        return cls(unit_file.host(text), unit_file.port(text), bool(_TLS_FLAG.search(text)), unit_file.node_rank(text))

    @property
    def asked_at(self):
        return LOOPBACK if self.host in ASKED_AT_LOOPBACK else self.host


def moved(url, here, there):
    """``url``, which leads to ``here``, for the server at ``there``; both are :class:`Endpoint`.

    Only what differs between the two is replaced: the rest may be a proxy's, and stays.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        return url
    scheme = parts.scheme if here.tls == there.tls else "https" if there.tls else "http"
    host = there.asked_at if parts.hostname == here.asked_at else parts.hostname
    port = there.port if there.port and there.port != here.port else parts.port
    netloc = "[%s]" % host if ":" in host else host
    return parts._replace(scheme=scheme, netloc=netloc if port is None else "%s:%d" % (netloc, port)).geturl()
