# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The place of one server in several routers: looked up, taken, given back; each step followed to its end."""

from __future__ import annotations

import dataclasses
import time

from ansible_collections.llmops.sglang.plugins.module_utils import router_capacity
from ansible_collections.llmops.sglang.plugins.module_utils.router_api import RouterError

SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
# A router that could not ask a server for its model lists it without one at once, and never asks again.
SECONDS_FOR_THE_MODEL = 5.0


@dataclasses.dataclass
class Place:
    """What one router said: ``worker`` is the server's entry in its list, ``None`` when it is not there."""

    router: object
    worker: object = None
    others: tuple = ()

    @property
    def url(self):
        return self.router.url


class Membership:
    """One server and its routers.

    :arg routers: a list of :class:`router_api.Router`.
    :arg worker_url: the server's address as the routers know it.
    :arg worker_key: the key with which the routers shall ask the server, ``None`` for none.
    :arg timeout: seconds within which each router must have followed.
    """

    def __init__(self, routers, worker_url, worker_key=None, timeout=180, clock=time.monotonic, sleep=time.sleep):
        self.worker_url = worker_url.rstrip("/")
        self.changed = False
        self._routers = routers
        self._worker_key = worker_key
        self._timeout = timeout
        self._clock = clock
        self._sleep = sleep

    def look(self):
        """Ask all routers.

        :returns: a :class:`Place` for each.
        :raises RouterError: with the troubles of all of them when any has one. So nothing is changed before all answer.
        """
        places, troubles = [], []
        for router in self._routers:
            try:
                places.append(self._place(router))
            except RouterError as error:
                troubles.append(str(error))
        if troubles:
            raise RouterError(" ".join(troubles))
        return places

    def take_out(self, places, settings, allow_last=False):
        """Remove the server from all ``places`` that have it, and wait until no router lists it.

        :arg settings: what to give back by router url, should it fail on the way.
        :returns: the places it was taken from.
        :raises RouterError: after the server was given back.
        """
        taken = []
        try:
            for place in places:
                if place.worker:
                    # Noted before the request: one without an answer may have been followed all the same.
                    taken.append(place)
                    place.router.remove(place.worker, settings.get(place.url, {}), self._worker_key)
                    self.changed = True
            for place in taken:
                left = self._wait_until_gone(place)
                unserved = [] if allow_last else router_capacity.left_unserved(place.worker, left)
                if unserved:
                    raise RouterError(f"{self.last_worker(place.url, unserved)} Others have left at the same time.")
        except RouterError as error:
            raise RouterError(f"{error} {self.give_back(taken, settings)}".strip()) from error
        return taken

    def put_in(self, place, settings):
        """Add the server to one router, and wait until that router sends requests to it.

        :raises RouterError: when it does not come to that. What was added without use is removed.
        """
        if place.worker and place.worker.draining:
            self._wait_until_gone(place)
        job = ""
        if not place.worker or place.worker.draining:
            job = place.router.add(self.worker_url, settings, self._worker_key)
            self.changed = True
        self._wait_until_serving(place.router, job, settings)

    def give_back(self, places, settings):
        """Undo :meth:`take_out`, and say in a sentence how that went; ``""`` when there was nothing to undo."""
        back, lost = [], []
        for place in places:
            try:
                self.put_in(self._place(place.router), settings.get(place.url, {}))
                back.append(place.url)
            except RouterError as error:
                lost.append(str(error))
        said = [f"The server was given back to {', '.join(back)}."] if back else []
        if lost:
            said += ["It could not be given back everywhere:"] + lost + ["Add it again with state=present."]
        return " ".join(said)

    def last_worker(self, router_url, unserved):
        return (
            f"{self.worker_url} is the last healthy worker of the router at {router_url} for {', '.join(unserved)}:"
            " without it requests would fail. Bring another worker back first, or set allow_last to true."
        )

    def _place(self, router):
        workers = router.workers()
        mine = [worker for worker in workers if worker.is_server(self.worker_url)]
        return Place(router, mine[0] if mine else None, tuple(worker for worker in workers if worker not in mine))

    def _wait_until_gone(self, place):
        """The workers that are left. A queued removal takes milliseconds on sglang-router and five seconds on smg."""
        trouble = ""
        for now, unseen in self._looks(place.router):
            if now and not now.worker:
                return now.others
            trouble = unseen
        raise RouterError(
            f"The router at {place.url} has not let {self.worker_url} go within {self._timeout:g} s:"
            f" {trouble or 'it lists it still'}."
        )

    def _wait_until_serving(self, router, job, settings):
        trouble = ""
        modelless_since = None
        for now, unseen in self._looks(router):
            if not now:
                trouble = unseen
            elif not now.worker:
                job = self._follow(router, job, settings)
                trouble = "it does not list it"
            elif now.worker.healthy is False:
                trouble = "it does not call it healthy"
            elif router_capacity.lacks_model(now.worker, now.others):
                trouble = "it does not know its model"
                modelless_since = modelless_since or self._clock()
                if self._clock() - modelless_since >= SECONDS_FOR_THE_MODEL:
                    self._remove_useless(router, now.worker, settings)
            else:
                return
        raise RouterError(
            f"The router at {router.url} has not taken {self.worker_url} in within {self._timeout:g} s: {trouble}."
        )

    def _follow(self, router, job, settings):
        """An addition that is not listed (yet): its job may have failed. Where there is no job it is asked for again.

        A router gives none when it knows the worker already, and may drop that one a moment later (smg while draining).
        """
        failed = router.failed_job(job)
        if failed:
            raise RouterError(f"The router at {router.url} has given up on {self.worker_url}: {failed}.")
        return job or router.add(self.worker_url, settings, self._worker_key)

    def _remove_useless(self, router, worker, settings):
        router.remove(worker, settings, self._worker_key)
        raise RouterError(
            f"The router at {router.url} took {self.worker_url} in, but could not ask it for its model: the server"
            " wants a key that the router was not given (worker_api_key), or does not answer on /server_info. It was"
            " removed again."
        )

    def _looks(self, router):
        """Look at a router at once, then ever more slowly until time is up: ``(place, "")``, or ``(None, trouble)``."""
        end = self._clock() + self._timeout
        pause = SHORTEST_PAUSE
        while True:
            try:
                yield self._place(router), ""
            except RouterError as error:
                yield None, str(error)
            remaining = end - self._clock()
            if remaining <= 0:
                return
            self._sleep(min(pause, remaining))
            pause = min(pause * 1.5, LONGEST_PAUSE)
