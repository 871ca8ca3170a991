# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what the steps on a host returned ──▶ the outcome, as the ledger records it.

``steps`` maps the role's steps to their results: ``unit``, ``restart``, ``verify`` and ``ready`` of the deployment,
``restored`` (the readiness of the old server, or why it is not back) and ``failure`` (the result that ended the
deployment). A step that did not run is missing or empty.
"""

from __future__ import annotations


def deployment_outcome(steps):
    """Outcome of a deployment: ``verdict``, ``reason``, ``action``, ``conditions``, ``diagnosis``, ``invocation_id``."""
    return _record(steps, _verdict(steps), _reason(steps), _action(steps))


def audit_outcome(steps):
    """Outcome of an audit, which reads and leaves the host untouched."""
    failure = steps.get("failure")
    reason = failure.get("msg") if failure else _step(steps, "verify").get("reason")
    return _record(steps, _verdict(steps), reason or "The audit ended without a reason.", "untouched")


def rollback_outcome(steps):
    """Outcome of a rollback that was asked for: proven when the old server is back and ready."""
    restored = _step(steps, "restored")
    proven = bool(restored.get("ready") or restored.get("removed"))
    record = _record({}, "proven" if proven else "refuted", _restored_sentence(restored), "rolled_back")
    record["invocation_id"] = (restored.get("instance") or {}).get("invocation_id", "")
    return record


def node_was_changed(steps):
    """Whether the node is not as it was found: a unit was written or is still unproven, or the server was restarted."""
    unit = _step(steps, "unit")
    return bool(unit.get("changed") or unit.get("unproven") or _step(steps, "restart").get("changed"))


def _record(steps, verdict, reason, action):
    verify = _step(steps, "verify")
    return {
        "verdict": verdict,
        "reason": reason,
        "action": action,
        "conditions": verify.get("conditions") or [],
        "diagnosis": verify.get("diagnosis") or [],
        "invocation_id": _invocation_id(steps),
    }


def _verdict(steps):
    verdict = _step(steps, "verify").get("verdict")
    if not steps.get("failure"):
        return verdict or "proven"
    if verdict in ("refuted", "inconclusive"):
        return verdict
    return "refuted" if verdict or node_was_changed(steps) else "inconclusive"


def _reason(steps):
    failure = steps.get("failure")
    if not failure:
        return _step(steps, "verify").get("reason") or "The server without MTP is ready."
    reason = _sentence(failure.get("msg") or "A step failed without saying why.")
    if not node_was_changed(steps):
        return reason + " Nothing was changed on this host."
    return "%s %s" % (reason, _restored_sentence(_step(steps, "restored")))


def _restored_sentence(restored):
    if restored.get("ready"):
        return "The last known good server is back and ready."
    if restored.get("removed"):
        return "There was no unit before, and there is none now."
    return "THE LAST KNOWN GOOD SERVER IS NOT BACK: %s" % (restored.get("msg") or "going back did not end.")


def _action(steps):
    if not node_was_changed(steps):
        return "untouched" if steps.get("failure") else "skipped"
    return "rolled_back" if steps.get("failure") else "deployed"


def _invocation_id(steps):
    for name in ("verify", "restart", "unit"):
        instance = _step(steps, name).get("instance") or {}
        if instance.get("invocation_id"):
            return instance["invocation_id"]
    return ""


def _step(steps, name):
    return steps.get(name) or {}


def _sentence(text):
    return text if text.endswith((".", "!", "?")) else text + "."
