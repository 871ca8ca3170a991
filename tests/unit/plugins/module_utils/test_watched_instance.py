# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import socket

from ansible_collections.llmops.sglang.plugins.module_utils.server_api import parse_url
from ansible_collections.llmops.sglang.plugins.module_utils.watched_instance import WatchedInstance


class Systemd:
    """Stands for systemctl show; counts how often it is asked."""

    def __init__(self, invocation_id="aaaa"):
        self.asked = 0
        self.invocation_id = invocation_id
        self.active_state = "active"

    def __call__(self, command):
        assert command[:2] == ["systemctl", "show"]
        self.asked += 1
        state = "LoadState=loaded\nActiveState=%s\nSubState=running\n" % self.active_state
        return 0, state + "InvocationID=%s\nMainPID=1\nControlGroup=/x.service\n" % self.invocation_id, ""


def watch(systemd, invocation_id="", url="http://127.0.0.1:1", verify_listener=False):
    clock = [0.0]
    watched = WatchedInstance(
        systemd, "x.service", invocation_id, parse_url(url), verify_listener, clock=lambda: clock[0]
    )
    return watched, clock


def test_the_unit_is_read_again_about_once_a_second():
    systemd = Systemd()
    watched, clock = watch(systemd)
    for tenth in range(31):
        clock[0] = tenth / 10
        assert watched.trouble() == ""
    assert systemd.asked == 4


def test_a_reading_can_be_asked_for():
    systemd = Systemd()
    watched, _clock = watch(systemd)
    watched.trouble()
    watched.trouble(now=True)
    assert systemd.asked == 2


def test_the_instance_of_the_first_reading_is_the_one_that_counts():
    systemd = Systemd("aaaa")
    watched, _clock = watch(systemd)
    watched.trouble()
    systemd.invocation_id = "bbbb"
    assert "aaaa" in watched.trouble(now=True)
    assert watched.end == "replaced"


def test_how_it_ended_is_known():
    systemd = Systemd("aaaa")
    watched, _clock = watch(systemd)
    watched.trouble()
    assert watched.end == ""
    systemd.active_state = "failed"
    watched.trouble(now=True)
    assert watched.end == "dead"


def test_an_instance_that_was_asked_for_and_is_gone_is_replaced():
    watched, _clock = watch(Systemd("bbbb"), "aaaa")
    assert "replaced by bbbb" in watched.trouble()


def test_whoever_listens_and_is_not_in_the_cgroup_is_found():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        watched, _clock = watch(Systemd(), url=url, verify_listener=True)
        assert watched.trouble() == ""
        assert "does not belong to x.service" in watched.listener_trouble()
        unwatched, _clock = watch(Systemd(), url=url, verify_listener=False)
        assert unwatched.trouble() == ""
        assert unwatched.listener_trouble() == ""


def test_a_listener_that_nobody_can_see_is_no_foreigner():
    watched, _clock = watch(Systemd(), verify_listener=True)
    watched.trouble()
    assert watched.listener_trouble() == ""
    assert watched.is_listener_unseen
