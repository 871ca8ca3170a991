# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader and writer: the list of workers of one router, through its admin API."""

from __future__ import annotations

import time

from ansible_collections.llmops.sglang.plugins.module_utils import router_dialects, server_api

LONGEST_QUOTE = 300
# Up to 0.1.9 an addition is answered when the router has seen the server's /health, which may take a generation.
SECONDS_FOR_AN_ADDITION = 60
LOOKS_AT_A_JOB = 100
SECONDS_BETWEEN_LOOKS = 0.1

CLOSED = {
    401: "it wants another key: give its admin key as api_key or api_key_file",
    403: "its admin API is not open to the key in use",
}


class RouterError(Exception):
    """A router did not do what it was asked to; the text is one sentence or more for the operator, without secrets."""


class Router:
    """One router.

    :arg http: a :class:`~server_api.ServerApi` with the router's url and admin key.
    :arg redactor: a :class:`~redaction.Redactor` that knows all keys; what a router answers is shown through it.
    """

    def __init__(self, http, redactor):
        self._http = http
        self._redactor = redactor
        self._generation = None

    @property
    def url(self):
        return self._http.address.url

    @property
    def generation(self):
        """``workers``, ``list_workers``, or ``""`` before the first answer."""
        return self._generation.name if self._generation else ""

    def workers(self):
        """All workers as a list of :class:`router_dialects.Worker`. Finds out the router's generation first.

        :raises RouterError: when it does not answer, wants another key or is no router.
        """
        for generation in [self._generation] if self._generation else router_dialects.GENERATIONS:
            answer = self._send(generation.listing)
            if answer.status == 404:
                continue
            workers = generation.workers(answer.json()) if answer.ok else None
            if workers is None:
                raise RouterError(self._trouble("does not list its workers", answer))
            self._generation = generation
            return workers
        raise RouterError(
            f"{self.url} answers 404 on /workers and on /list_workers: it is no SGLang router, or one older than 0.1.6."
            " Give the address of the router, not of a server."
        )

    def add(self, url, settings, api_key):
        """Ask for a worker. Its list shows what becomes of it.

        :returns: the id under which the router works on it; ``""`` when it has the worker already or gives no id.
        :raises RouterError: when it refuses.
        """
        answer = self._send(self._generation.addition(url, settings, api_key), SECONDS_FOR_AN_ADDITION)
        if answer.status in router_dialects.ACCEPTED:
            return router_dialects.queued_id(answer.json())
        if router_dialects.is_known(answer):
            return ""
        raise RouterError(self._trouble(f"did not take {url}", answer))

    def remove(self, worker, settings, api_key):
        """Ask for the removal of a worker.

        :arg settings: its own, and ``api_key`` its key: 0.3.x must be told them where it lists servers by ranks.
        :raises RouterError: when it refuses.
        """
        requests = self._generation.removals(worker)
        if not requests:
            worker_id = self._id_without_rank(worker, settings, api_key)
            requests = [router_dialects.Request("DELETE", router_dialects.worker_path(worker_id))]
        for request in requests:
            answer = self._send(request)
            if answer.status not in router_dialects.ACCEPTED and not router_dialects.is_gone(answer):
                raise RouterError(self._trouble(f"did not let {worker.url} go", answer))

    def failed_job(self, worker_id):
        """Why the router gave up on an addition, ``""`` while it did not."""
        if not worker_id:
            return ""
        answer = self._job(worker_id)
        return self._quote(router_dialects.failed_job(answer.json())) if answer.ok else ""

    def _id_without_rank(self, worker, settings, api_key):
        """The id of a server that 0.3.x lists by ranks: it tells it only when the server is added once more.

        That changes nothing, but must have ended before the removal, or it would undo it.
        """
        answer = self._send(self._generation.addition(worker.url, settings, api_key))
        worker_id = router_dialects.queued_id(answer.json()) if answer.status in router_dialects.ACCEPTED else ""
        for _look in range(LOOKS_AT_A_JOB if worker_id else 0):
            if not router_dialects.has_job_at_work(self._job(worker_id).json()):
                return worker_id
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise RouterError(self._trouble(f"does not tell the id of {worker.url}", answer))

    def _job(self, worker_id):
        return self._send(router_dialects.Request("GET", router_dialects.worker_path(worker_id)))

    def _send(self, request, timeout=None):
        if request.method == "GET":
            return self._http.get(request.path, timeout)
        if request.method == "DELETE":
            return self._http.delete(request.path, timeout)
        return self._http.post(request.path, request.content, timeout)

    def _trouble(self, what, answer):
        if not answer.status:
            return f"The router at {self.url} {what}: {answer.error} ({answer.state})."
        if answer.status in CLOSED:
            return f"The router at {self.url} {what}: it answers {answer.status}, {CLOSED[answer.status]}."
        quoted = self._quote(answer.body.strip()) or "nothing more"
        return f"The router at {self.url} {what}: it answers {answer.status} and says: {quoted}."

    def _quote(self, text):
        text = " ".join(self._redactor.redact(text).split())
        return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def open_router(url, api_key, redactor, ca_path=None, validate_certs=True):
    """The :class:`Router` at ``url``.

    :raises server_api.ServerApiError: for a url that is none, and without ``requests``.
    """
    server_api.parse_url(url, "router_urls")
    return Router(server_api.ServerApi(url, api_key, ca_path=ca_path, validate_certs=validate_certs), redactor)
