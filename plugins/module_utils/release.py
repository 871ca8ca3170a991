# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which SGLang release a running server is, and how that is known."""

from __future__ import annotations

import dataclasses

from ansible_collections.llmops.sglang.plugins.module_utils import dialects


@dataclasses.dataclass(frozen=True)
class Release:
    """``version`` as given or found, ``""`` when only a range is known. ``rows``: the dialects that it may be."""

    version: str
    rows: tuple
    how: str
    exact: bool

    @property
    def dialect(self):
        """The row to speak of. Of several that are possible, the newest."""
        return self.rows[-1]

    def discriminates(self, condition):
        """Whether ``condition`` comes out otherwise without speculation in every release that this may be."""
        return all(condition in row.discriminating for row in self.rows)

    @property
    def label(self):
        """For sentences: ``SGLang 0.5.12``, ``SGLang 0.5.7 to 0.5.9``, ``SGLang 0.5.23 or later``."""
        if self.version:
            return "SGLang %s" % self.version
        first, last = self.rows[0], self.rows[-1]
        if len(self.rows) == len(dialects.DIALECTS):
            return "SGLang of an unknown release"
        if last is dialects.NEWEST:
            return "SGLang %s or later" % first.version
        return "SGLang %s to %s" % (first.version, last.version)

    def summary(self):
        """``{"version", "at_least", "at_most", "how"}``; ``at_most`` is ``""`` when there is no upper limit."""
        open_ended = self.rows[-1] is dialects.NEWEST and not self.exact
        return {
            "version": self.version,
            "at_least": self.version or self.rows[0].version,
            "at_most": self.version or ("" if open_ended else self.rows[-1].version),
            "how": self.how,
        }


def find_release(facts, given=None, http_fields=None):
    """The :class:`Release` of a start.

    The running server's own words win: what ``/server_info`` says, then the fields of the ``server_args=`` line. A
    version from elsewhere (an option, the metadata of the virtual environment) is taken when these do not contradict.

    :arg given: a version or ``{"version", "how"}`` or None.
    """
    answered = (http_fields or {}).get("version")
    if isinstance(answered, str) and dialects.release_of(answered):
        return _exact(answered, "the server's own answer")
    version, how = _given(given)
    printed = _printed(facts)
    if not version:
        return printed
    if facts.banner is None or _within(version, printed):
        return _exact(version, how)
    return dataclasses.replace(printed, how="%s; %s says %s" % (printed.how, how, version))


def _given(given):
    if not given:
        return "", ""
    if isinstance(given, dict):
        version, how = given.get("version") or "", given.get("how") or "given"
    else:
        version, how = given, "given"
    return (str(version), str(how)) if dialects.release_of(version) else ("", "")


def _exact(version, how):
    return Release(version[:40], (dialects.dialect_of(version),), how, True)


def _printed(facts):
    if facts.banner is None:
        return Release("", dialects.DIALECTS, "not known: the log shows no server_args line", False)
    oldest, newest, how = facts.banner_release
    first, last = dialects.DIALECTS.index(oldest), dialects.DIALECTS.index(newest)
    known = oldest is newest and (newest is not dialects.NEWEST or len(facts.banner.raw) == newest.fields)
    return Release(newest.version if known else "", dialects.DIALECTS[first:last + 1], how, known)


def _within(version, printed):
    row = dialects.dialect_of(version)
    return row in printed.rows
