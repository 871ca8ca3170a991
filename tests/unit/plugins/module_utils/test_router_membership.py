# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils.router_api import RouterError
from ansible_collections.llmops.sglang.plugins.module_utils.router_dialects import Worker
from ansible_collections.llmops.sglang.plugins.module_utils.router_membership import Membership

URL = "http://gpu01:30000"
MODEL = frozenset({"m"})
OTHER = Worker("http://gpu02:30000", ({"id": "2", "url": "http://gpu02:30000"},), True, False, MODEL)


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class RouterDouble:
    """A router whose list follows after ``looks`` more looks.

    ``becomes`` is the worker as it is listed after an addition. ``stays``: a removal is accepted and never followed.
    ``deaf``: so many looks fail. ``refuses``: the word of the request that is refused.
    """

    def __init__(self, name="r1", has=True, looks=1, becomes=None, stays=False, refuses="", failed="", jobs=("job",)):
        self.url = f"http://{name}:30080"
        self.generation = "workers"
        self.worker = dataclasses.replace(OTHER, url=URL)
        self.becomes = becomes or self.worker
        self.listed = [OTHER] + ([self.worker] if has else [])
        self.looks = looks
        self.stays = stays
        self.refuses = refuses
        self.failed = failed
        self.jobs = list(jobs)
        self.deaf = 0
        self.asked = []
        self.queue = []

    def workers(self):
        if self.deaf:
            self.deaf -= 1
            raise RouterError(f"{self.url} is deaf.")
        if self.queue:
            self.queue[0][0] -= 1
            if self.queue[0][0] <= 0:
                self.listed = self.queue.pop(0)[1]
        return list(self.listed)

    def add(self, url, settings, api_key):
        self._take("add", url, settings, api_key)
        job = self.jobs.pop(0) if len(self.jobs) > 1 else self.jobs[0]
        if job and not self.failed:
            self.queue.append([self.looks, [OTHER, self.becomes]])
        return job

    def remove(self, worker, settings, api_key):
        self._take("remove", worker.url)
        if not self.stays:
            self.queue.append([self.looks, [each for each in self.listed if each.url != worker.url]])

    def failed_job(self, job):
        return self.failed if job else ""

    def _take(self, word, *arguments):
        if word == self.refuses:
            raise RouterError(f"{self.url} refuses.")
        self.asked.append((word, *arguments))


def membership(*routers, timeout=30):
    clock = Clock()
    return Membership(list(routers), URL + "/", "wk", timeout, clock, clock.sleep)


def words(router):
    return [request[0] for request in router.asked]


def test_a_look_finds_the_worker_among_others():
    (place,) = membership(RouterDouble()).look()
    assert place.worker.url == URL
    assert place.others == (OTHER,)


def test_a_look_tells_the_troubles_of_all_routers_at_once():
    routers = [RouterDouble("r1"), RouterDouble("r2"), RouterDouble("r3")]
    routers[0].deaf = routers[2].deaf = 1
    with pytest.raises(RouterError, match=r"http://r1:30080 is deaf. http://r3:30080 is deaf."):
        membership(*routers).look()
    assert [router.asked for router in routers] == [[], [], []]


def test_a_removal_is_followed_until_the_list_shows_it():
    routers = [RouterDouble("r1"), RouterDouble("r2", looks=12), RouterDouble("r3", has=False)]
    worker = membership(*routers)
    taken = worker.take_out(worker.look(), {})
    assert [place.url for place in taken] == ["http://r1:30080", "http://r2:30080"]
    assert [words(router) for router in routers] == [["remove"], ["remove"], []]
    assert all(router.workers() == [OTHER] for router in routers)
    assert worker.changed


def test_a_look_that_fails_on_the_way_is_no_reason_to_give_up():
    router = RouterDouble(looks=2)
    worker = membership(router)
    places = worker.look()
    router.deaf = 3
    worker.take_out(places, {})
    assert router.workers() == [OTHER]


def test_a_removal_that_is_never_followed_is_undone_and_said():
    routers = [RouterDouble("r1"), RouterDouble("r2", stays=True)]
    worker = membership(*routers)
    with pytest.raises(RouterError, match="r2:30080 has not let .* go within 30 s: it lists it still.*given back to"):
        worker.take_out(worker.look(), {"http://r1:30080": {"priority": 7}})
    assert routers[0].asked[-1] == ("add", URL, {"priority": 7}, "wk")
    assert words(routers[1]) == ["remove"]


def test_a_refused_removal_gives_the_worker_back_where_it_was_taken():
    routers = [RouterDouble("r1"), RouterDouble("r2", refuses="remove")]
    worker = membership(*routers)
    with pytest.raises(RouterError, match="http://r2:30080 refuses. The server was given back to"):
        worker.take_out(worker.look(), {})
    assert words(routers[0]) == ["remove", "add"]


def test_two_that_leave_at_once_do_not_leave_a_model_unserved():
    router = RouterDouble()
    worker = membership(router)
    places = worker.look()
    router.listed.remove(OTHER)
    with pytest.raises(RouterError, match="last healthy worker .* for m: .*left at the same time. .* given back"):
        worker.take_out(places, {})
    assert words(router) == ["remove", "add"]


def test_two_that_leave_at_once_may_when_the_operator_says_so():
    router = RouterDouble()
    worker = membership(router)
    places = worker.look()
    router.listed.remove(OTHER)
    assert len(worker.take_out(places, {}, allow_last=True)) == 1


def test_what_could_not_be_given_back_is_said():
    router = RouterDouble(refuses="add")
    worker = membership(router)
    taken = worker.take_out(worker.look(), {})
    said = worker.give_back(taken, {})
    assert said == (
        "It could not be given back everywhere: http://r1:30080 refuses. Add it again with state=present."
    )


def test_an_addition_is_followed_until_the_router_lists_it():
    router = RouterDouble(has=False, looks=9)
    worker = membership(router)
    worker.put_in(worker.look()[0], {"priority": 7})
    assert router.asked == [("add", URL, {"priority": 7}, "wk")]
    assert worker.changed
    assert router.workers() == [OTHER, router.worker]


def test_a_worker_that_is_not_healthy_is_waited_for():
    router = RouterDouble()
    router.listed = [OTHER, dataclasses.replace(router.worker, healthy=False)]
    router.queue = [[9, [OTHER, router.worker]]]
    worker = membership(router)
    worker.put_in(worker.look()[0], {})
    assert router.asked == []
    assert router.workers() == [OTHER, router.worker]


def test_a_worker_that_is_there_and_healthy_is_left_alone():
    router = RouterDouble()
    worker = membership(router)
    worker.put_in(worker.look()[0], {})
    assert router.asked == []
    assert not worker.changed


def test_a_worker_that_is_draining_is_added_after_it_has_gone():
    router = RouterDouble()
    draining = dataclasses.replace(router.worker, healthy=False, draining=True)
    router.listed = [OTHER, draining]
    router.queue = [[5, [OTHER]]]
    worker = membership(router)
    worker.put_in(worker.look()[0], {"cost": 2.0})
    assert router.asked == [("add", URL, {"cost": 2.0}, "wk")]
    assert router.workers() == [OTHER, router.worker]


def test_an_addition_that_was_known_and_then_dropped_is_made_again():
    router = RouterDouble(has=False, jobs=("", "", "job"))
    worker = membership(router)
    worker.put_in(worker.look()[0], {})
    assert words(router) == ["add", "add", "add"]
    assert router.workers() == [OTHER, router.worker]


def test_a_job_that_failed_ends_the_wait_with_its_message():
    router = RouterDouble(has=False, failed="Both HTTP and gRPC health checks failed")
    worker = membership(router)
    with pytest.raises(RouterError, match="given up on .*: Both HTTP and gRPC health checks failed"):
        worker.put_in(worker.look()[0], {})


def test_an_addition_that_never_shows_ends_with_the_time():
    router = RouterDouble(has=False, looks=10**6)
    worker = membership(router, timeout=7)
    with pytest.raises(RouterError, match="has not taken .* in within 7 s: it does not list it"):
        worker.put_in(worker.look()[0], {})


def test_a_worker_that_stays_unhealthy_ends_with_the_time():
    router = RouterDouble(becomes=dataclasses.replace(OTHER, url=URL, healthy=False), has=False)
    worker = membership(router, timeout=7)
    with pytest.raises(RouterError, match="within 7 s: it does not call it healthy"):
        worker.put_in(worker.look()[0], {})


def test_a_worker_whose_model_stays_unknown_is_taken_out_again():
    router = RouterDouble(becomes=dataclasses.replace(OTHER, url=URL, models=frozenset()), has=False)
    worker = membership(router)
    with pytest.raises(RouterError, match="could not ask it for its model: .*worker_api_key.*removed again"):
        worker.put_in(worker.look()[0], {})
    assert words(router) == ["add", "remove"]
