# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import drain
from ansible_collections.llmops.sglang.plugins.module_utils.server_load import Load

URL = "http://127.0.0.1:30000"


def load(requests, tokens=0, state="200"):
    return Load(requests, tokens, state, "/v1/loads")


class Server:
    """Gives one reading after the other, the last one for ever; its own clock passes while somebody sleeps."""

    def __init__(self, *readings):
        self.readings = list(readings)
        self.now = 50.0
        self.reads = 0

    def read(self, timeout):
        assert timeout > 0
        self.reads += 1
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def wait(self, timeout=600):
        return drain.wait_until_idle(self, URL, timeout, self.clock, self.sleep)


def test_one_reading_of_zero_shows_nothing():
    server = Server(load(0), load(0), load(4), load(0))
    assert server.wait().idle
    assert server.reads == 6


def test_the_server_is_idle_after_three_readings_of_zero_in_a_row():
    drained = Server(load(2), load(1), load(0)).wait()
    assert drained.idle
    assert drained.requests == 0
    assert drained.reason == "The server at http://127.0.0.1:30000 was idle after 2.0 s (/v1/loads)."


def test_a_release_that_tells_no_tokens_is_judged_by_its_requests():
    assert Server(load(0, None)).wait().idle


def test_a_prefill_that_no_release_counts_as_a_request_is_seen_by_its_tokens():
    prefill = [load(0, 8192 * chunk) for chunk in range(1, 9)]
    server = Server(*prefill, load(1, 70000), load(0, 0))
    assert server.wait().idle
    assert server.reads == len(prefill) + 1 + drain.READS_IN_A_ROW


def test_tokens_that_never_change_are_no_prefill():
    drained = Server(load(0, 4096)).wait()
    assert drained.idle
    assert drained.seconds >= drain.SECONDS_OF_STILL_TOKENS


def test_a_server_that_is_gone_is_idle():
    drained = Server(load(3), load(None, None, "refused")).wait()
    assert drained.idle
    assert drained.reason == "Nothing listens at http://127.0.0.1:30000: no request runs there."


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        (load(7, 900), "still works on 7 requests after 5 s (/v1/loads)"),
        (Load(None, None, "timeout", "/v1/loads", "no answer came in time"), "no answer came in time"),
        (Load(None, None, "503", "/v1/loads"), "/v1/loads answers 503"),
    ],
)
def test_a_server_that_is_not_seen_idle_ends_with_the_time_and_says_what_was_seen(reading, reason):
    drained = Server(reading).wait(timeout=5)
    assert not drained.idle
    assert reason in drained.reason
    assert drained.requests == reading.requests
    assert drained.seconds == 5.0


def test_a_long_prompt_at_the_deadline_is_said():
    server = Server(*[load(0, tokens) for tokens in range(1000, 30000, 1000)])
    drained = server.wait(timeout=3)
    assert not drained.idle
    assert "no request running or waiting after 3 s, but 7000 tokens in its cache are still in use" in drained.reason


@pytest.mark.parametrize(
    ("reading", "idle", "reason"),
    [
        (load(0), True, "Now it works on 0 requests."),
        (load(4), False, "Now it works on 4 requests."),
        (load(None, None, "refused"), True, "Now it works on 0 requests."),
        (load(None, None, "timeout"), False, "Now it works on an unknown number of requests."),
    ],
)
def test_a_glance_is_one_reading(reading, idle, reason):
    glance = drain.at_a_glance(reading)
    assert (glance.idle, glance.reason) == (idle, reason)
