# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pure: what the steps on a host returned ──▶ the outcome, as the ledger records it.

``steps`` maps the role's steps to their results: ``unit``, ``restart``, ``verify``, ``ready``, ``prove`` and ``soak``
of the deployment, ``restored`` (the readiness of the old server, or why it is not back, or why it was not asked) and
``failure`` (the result that ended the deployment). A step that did not run is missing or empty. ``starts`` counts the
server's starts.
"""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils import group

# The steps that judge, the last one first: what came later knows more.
JUDGES = ("soak", "prove", "verify")
# How Ansible calls a module that ended without a result (core 2.19 and newer, core before).
CUT_OFF = ("Module result deserialization failed", "MODULE FAILURE")


def deployment_outcome(steps):
    """Outcome of a deployment.

    :returns: dict with ``verdict``, ``reason``, ``action``, ``conditions``, ``diagnosis``, ``accept_length``,
        ``starts``, ``start_seconds`` (None unless a start was watched to its end) and ``invocation_id``.
    """
    return _record(steps, _verdict(steps), _reason(steps), _action(steps))


def audit_outcome(steps):
    """Outcome of an audit, which reads and leaves the host untouched."""
    failure = steps.get("failure")
    reason = failure.get("msg") if failure else _proof(steps)
    return _record(steps, _verdict(steps), reason or "The audit ended without a reason.", "untouched")


def rollback_outcome(steps):
    """Outcome of a rollback that was asked for: proven when the old server is back and ready, or nothing was to do."""
    restored = _step(steps, "restored")
    as_wished = _is_back(restored) or any(restored.get(why) for why in ("removed", "nothing_to_restore", "predicted"))
    moved = any(_step(steps, step).get("changed") for step in ("unit_restored", "restart_restored"))
    action = "rolled_back" if moved or not as_wished else "skipped"
    record = _record({}, "proven" if as_wished else "refuted", _restored_sentence(restored), action)
    record["invocation_id"] = (restored.get("instance") or {}).get("invocation_id", "")
    return record


def node_was_changed(steps):
    """Whether the node is not as it was found: a unit was written or is still unproven, or the server was restarted."""
    if steps.get("check_mode"):
        return False
    unit = _step(steps, "unit")
    return bool(unit.get("changed") or unit.get("unproven") or _step(steps, "restart").get("changed"))


def lost_host(steps):
    """Why the host could not be reached at one of its steps; ``""`` when it was there at each.

    A play that ignores unreachable hosts goes on with the next task, as if the step had been done.
    """
    for result in steps.values():
        if isinstance(result, dict) and result.get("unreachable"):
            return "The host can't be reached: %s" % (result.get("msg") or "the connection was lost.")
    return ""


def _record(steps, verdict, reason, action):
    verify = _step(steps, "verify")
    return {
        "verdict": verdict,
        "reason": reason,
        "action": action,
        "conditions": verify.get("conditions") or [],
        "diagnosis": _diagnosis(steps),
        "accept_length": _step(steps, "prove").get("accept_length"),
        "starts": steps.get("starts", 0),
        "start_seconds": _start_seconds(steps),
        "invocation_id": _invocation_id(steps),
    }


def _verdict(steps):
    if lost_host(steps):
        return "inconclusive"
    verdicts = [verdict for verdict in (_step(steps, name).get("verdict") for name in JUDGES) if verdict]
    if not steps.get("failure"):
        return verdicts[0] if verdicts else "proven"
    for verdict in verdicts:
        if verdict != "proven":
            return verdict
    if group.is_hindrance(steps["failure"].get("msg", "")):
        return "inconclusive"
    return "refuted" if verdicts or node_was_changed(steps) else "inconclusive"


def _proof(steps):
    """What the verdict of a proven host rests on, in the order in which it was found."""
    reasons = [_step(steps, name).get("reason") for name in reversed(JUDGES)]
    return " ".join(_sentence(reason) for reason in reasons if reason)


def _diagnosis(steps):
    """The causes that were found, by the step that failed if it named any."""
    found = [_step(steps, "failure").get("diagnosis"), _step(steps, "verify").get("diagnosis")]
    return next((diagnosis for diagnosis in found if diagnosis), [])


def _reason(steps):
    failure = steps.get("failure")
    if not failure:
        return _proof(steps) or "The server without MTP is ready."
    reason = _sentence(failure.get("msg") or "A step failed without saying why.")
    if reason.startswith(CUT_OFF):
        reason = "A step on the host was cut off, as when it reboots or kills the process. Ansible says: " + reason
    if not node_was_changed(steps):
        return reason + " Nothing was changed on this host."
    return "%s %s" % (reason, _restored_sentence(_step(steps, "restored")))


def _restored_sentence(restored):
    if _is_back(restored):
        return "The last known good server is back and ready."
    if restored.get("nothing_to_restore"):
        return "Nothing was ever deployed to this host, so there is nothing to go back to."
    if restored.get("removed"):
        return "There was no unit before, and there is none now."
    return "THE LAST KNOWN GOOD SERVER IS NOT BACK: %s" % (restored.get("msg") or "going back did not end.")


def _is_back(restored):
    """Ready, or not judged because another host of its group answers for it (``ready`` is None)."""
    return restored.get("ready", False) is not False and not restored.get("failed")


def _action(steps):
    if not node_was_changed(steps):
        return "untouched" if steps.get("failure") else "skipped"
    if lost_host(steps) and not _is_back(_step(steps, "restored")):
        return "deployed"
    return "rolled_back" if steps.get("failure") else "deployed"


def _start_seconds(steps):
    """From the start of the instance to its ready line; None when it was not restarted or never got there."""
    phases = _step(steps, "verify").get("phases") or []
    restarted = _step(steps, "restart").get("changed")
    reached = [phase.get("elapsed") for phase in phases if phase.get("name") == "ready"]
    return reached[0] if restarted and reached else None


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
