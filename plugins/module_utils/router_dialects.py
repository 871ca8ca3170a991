# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: the admin API of the SGLang router in its generations, what is sent and what the answers mean.

Seen on the released routers sglang-router 0.1.9, 0.2.4 and 0.3.2 and on smg 1.13.0:

* up to 0.1.9 (and beside the other in 0.2.0 and 0.2.1) ``/list_workers``, ``/add_worker``, ``/remove_worker``: they
  answer when it is done, and know urls only;
* since 0.2.0 ``/workers``: adding and removing answer 202 and are queued, so only the list shows what became of them.
  A worker's id is its url in 0.2.x, and a UUID since 0.3.0.

A router that was started with ``--dp-aware`` lists one entry for each data-parallel rank of a server (``url@rank``).
Here they are one :class:`Worker`. Deleting such an entry works on smg; sglang-router answers 202 and does nothing: it
wants the id that belongs to the url without a rank.
"""

from __future__ import annotations

import dataclasses
import re
from urllib.parse import quote

RANK = re.compile(r"@[0-9]+$")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
UNKNOWN_MODEL = "unknown"
ACCEPTED = (200, 202)


@dataclasses.dataclass(frozen=True)
class Request:
    """What to send. ``content`` is sent as JSON."""

    method: str
    path: str
    content: dict | None = None


@dataclasses.dataclass(frozen=True)
class Worker:
    """One server as a router lists it.

    ``url`` is the router's own spelling, without a rank. ``entries`` are the router's own records, one for each
    data-parallel rank that it knows. ``healthy`` is ``None`` where the generation does not say.
    """

    url: str
    entries: tuple = ()
    healthy: bool | None = None
    draining: bool = False
    models: frozenset = frozenset()
    worker_type: str = "regular"

    @property
    def has_ranks(self):
        return any(RANK.search(str(entry.get("url", ""))) for entry in self.entries)

    @property
    def ids(self):
        """The ids under which the router removes it; empty when they must be asked for (0.3.x with ranks)."""
        ids = [str(entry.get("id", "")) for entry in self.entries]
        if not self.has_ranks or any("dp_base_url" in entry for entry in self.entries):
            return ids
        return [] if any(UUID.fullmatch(worker_id) for worker_id in ids) else [self.url]

    def is_server(self, url):
        return same_server(self.url, url)


def same_server(one, other):
    """Whether two urls name the same server; a slash at the end makes no difference to it."""
    return one.rstrip("/") == other.rstrip("/")


class ListApi:
    """The generation up to 0.1.9. Workers have a url and nothing else."""

    name = "list_workers"
    listing = Request("GET", "/list_workers")

    @staticmethod
    def workers(content):
        """The :class:`Worker` list in an answer to ``listing``; ``None`` when it is none."""
        urls = content.get("urls") if isinstance(content, dict) else None
        if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
            return None
        return _grouped([{"url": url} for url in urls], Worker)

    @staticmethod
    def addition(url, settings, api_key):
        """It takes no settings and no key: clients' own headers are passed on to the server."""
        return Request("POST", f"/add_worker?url={quote(url, safe='')}", {})

    @staticmethod
    def removals(worker):
        return [Request("POST", f"/remove_worker?url={quote(worker.url, safe='')}", {})]


class RestApi:
    """The generation since 0.2.0, and smg."""

    name = "workers"
    listing = Request("GET", "/workers")

    @staticmethod
    def workers(content):
        entries = content.get("workers") if isinstance(content, dict) else None
        if not isinstance(entries, list) or not all(_is_entry(entry) for entry in entries):
            return None
        return _grouped(entries, _rest_worker)

    @staticmethod
    def addition(url, settings, api_key):
        content = dict(settings, url=url)
        if api_key:
            content["api_key"] = api_key
        return Request("POST", "/workers", content)

    @staticmethod
    def removals(worker):
        return [Request("DELETE", worker_path(worker_id)) for worker_id in worker.ids]


GENERATIONS = (RestApi, ListApi)


def worker_path(worker_id):
    return f"/workers/{quote(worker_id, safe='')}"


def is_known(answer):
    """Whether a refused addition says that the router has the worker already, or is adding it."""
    if answer.status == 409:
        return any(code in answer.body for code in ("WORKER_ALREADY_EXISTS", "WORKER_CREATE_IN_PROGRESS"))
    return answer.status == 400 and "already exists" in answer.body


def is_gone(answer):
    """Whether a refused removal says that the router has no such worker."""
    if answer.status == 404:
        return "WORKER_NOT_FOUND" in answer.body
    return answer.status == 400 and "not found" in answer.body


def queued_id(content):
    """The id under which an addition was queued; ``""`` when the answer carries none."""
    worker_id = content.get("worker_id") if isinstance(content, dict) else None
    return worker_id if isinstance(worker_id, str) else ""


def failed_job(content):
    """The message of the job of a worker (``GET /workers/ID``) when that job failed; ``""`` otherwise."""
    job = content.get("job_status") if isinstance(content, dict) else None
    if not isinstance(job, dict) or job.get("status") != "failed":
        return ""
    return str(job.get("message") or "it gives no reason")


def has_job_at_work(content):
    """Whether the job of a worker (``GET /workers/ID``) has not ended yet."""
    job = content.get("job_status") if isinstance(content, dict) else None
    return isinstance(job, dict) and job.get("status") in ("pending", "processing")


def _is_entry(entry):
    return isinstance(entry, dict) and isinstance(entry.get("url"), str) and bool(entry.get("id"))


def _grouped(entries, make):
    groups = {}
    for entry in entries:
        groups.setdefault(RANK.sub("", entry["url"]), []).append(entry)
    return [make(url, tuple(group)) for url, group in groups.items()]


def _rest_worker(url, entries):
    draining = any(entry.get("status") == "draining" for entry in entries)
    return Worker(
        url=url,
        entries=entries,
        healthy=not draining and all(entry.get("is_healthy") is True for entry in entries),
        draining=draining,
        models=frozenset(model for entry in entries for model in _models(entry)),
        worker_type=str(entries[0].get("worker_type") or "regular"),
    )


def _models(entry):
    cards = entry.get("models")
    names = [card.get("id") for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []
    names.append(entry.get("model_id"))
    return [name for name in names if isinstance(name, str) and name and name != UNKNOWN_MODEL]
