# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import threading

import pytest
from ansible_collections.llmops.sglang.plugins.module_utils import generation, prompts
from ansible_collections.llmops.sglang.plugins.module_utils.acceptance import Acceptance
from ansible_collections.llmops.sglang.plugins.module_utils.server_api import Answer

PROMPT = prompts.COPY


def answered(text="the well", **meta_info):
    meta = dict({"completion_tokens": 2, "finish_reason": {"type": "length", "length": 2}}, **meta_info)
    return Answer("200", 200, json.dumps({"text": text, "output_ids": [5, 6], "meta_info": meta}))


class Api:
    """Answers by the text of the prompt, and notes how many requests were under way at once."""

    def __init__(self, answer):
        self._answer = answer
        self._lock = threading.Lock()
        self._under_way = 0
        self.most_at_once = 0
        self.asked = []

    def generate(self, prompt, max_tokens, deadline):
        with self._lock:
            self.asked.append(prompt)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            return self._answer(prompt) if callable(self._answer) else self._answer
        finally:
            with self._lock:
                self._under_way -= 1


def test_an_answer_is_read():
    completion = generation.read_answer(PROMPT, answered(spec_verify_ct=1), 0.5)
    assert completion.output.text == "the well"
    assert completion.output.token_ids == (5, 6)
    assert (completion.output.tokens, completion.output.finish) == (2, "length")
    assert completion.accepted == Acceptance(2, 1)
    assert completion.error == ""


@pytest.mark.parametrize("body", ["", "null", "[]", "{}", '{"text": 1}', '{"meta_info": {}}', "[" * 100000])
def test_an_answer_without_text_is_garbled(body):
    completion = generation.read_answer(PROMPT, Answer("200", 200, body), 0.5)
    assert completion.output is None
    assert completion.error


@pytest.mark.parametrize(
    "body",
    [
        '{"text": "x"}',
        '{"text": "x", "meta_info": 1}',
        '{"text": "x", "output_ids": "no", "meta_info": {"finish_reason": 3}}',
    ],
)
def test_a_text_with_nothing_beside_it_is_a_text(body):
    completion = generation.read_answer(PROMPT, Answer("200", 200, body), 0.5)
    assert completion.output.text == "x"
    assert completion.accepted is None


def test_old_releases_wrap_the_tokens_once_more():
    body = json.dumps({"text": "x", "output_ids": [[7, 8]], "meta_info": {}})
    assert generation.read_answer(PROMPT, Answer("200", 200, body), 0.5).output.token_ids == (7, 8)


def test_an_aborted_request_is_an_error():
    reason = {"type": "abort", "message": "out of room"}
    completion = generation.read_answer(PROMPT, answered(finish_reason=reason), 0.5)
    assert completion.output is None
    assert "out of room" in completion.error


@pytest.mark.parametrize(
    "body, clue",
    [
        ('{"error": {"message": "too long"}}', "it answered 400 (too long)"),
        ('{"error": "Unauthorized"}', "it answered 400 (Unauthorized)"),
        ("<html>", "it answered 400"),
    ],
)
def test_what_the_server_says_about_a_failure_is_shown(body, clue):
    assert generation.read_answer(PROMPT, Answer("400", 400, body), 0.5).error == clue


def test_a_key_in_a_failure_is_not_shown():
    body = json.dumps({"error": "bad header Authorization: Bearer sk-topsecret1"})
    assert "sk-topsecret1" not in generation.read_answer(PROMPT, Answer("400", 400, body), 0.5).error


def test_a_failure_is_summed_up():
    summary = generation.read_answer(PROMPT, Answer("timeout", error="no answer"), 1.23456).summary()
    assert summary == {"prompt": "copy", "seconds": 1.235, "tokens": 0, "accept_length": None, "error": "no answer"}


def test_a_busy_server_is_asked_again():
    answers = iter([Answer("503", 503), Answer("503", 503), answered()])
    api = Api(lambda _prompt: next(answers))
    completion = generation.complete(api, PROMPT, 16, 60, sleep=lambda _seconds: None)
    assert completion.output
    assert len(api.asked) == 3


def test_a_server_that_stays_busy_is_given_up():
    api = Api(Answer("503", 503))
    completion = generation.complete(api, PROMPT, 16, 60, sleep=lambda _seconds: None)
    assert completion.state == "503"
    assert 1 < len(api.asked) < 10


def test_a_plan_is_run_in_order_with_some_at_once():
    gate = threading.Barrier(4, timeout=10)

    def answer(prompt):
        if prompt != PROMPT.text:
            gate.wait()
        return answered(prompt[:5])

    api = Api(answer)
    completions = generation.run(api, prompts.plan(6), 16, 30, concurrency=4)
    assert [completion.prompt for completion in completions] == [prompts.COPY, *prompts.OTHERS[:4], prompts.COPY]
    assert all(completion.output.text == completion.prompt.text[:5] for completion in completions)
    assert api.most_at_once == 4


def test_no_more_are_under_way_than_asked_for():
    api = Api(answered())
    assert len(generation.run(api, prompts.plan(12), 16, 30, concurrency=2)) == 12
    assert api.most_at_once <= 2


def test_a_server_that_does_not_answer_at_all_is_asked_once():
    api = Api(Answer("refused", error="nothing listens on the port"))
    assert len(generation.run(api, prompts.plan(6), 16, 30, concurrency=4)) == 1


def test_a_request_that_never_ends_is_overdue(monkeypatch):
    monkeypatch.setattr(generation, "SECONDS_BEYOND_DEADLINE", 0.0)
    never = threading.Event()

    def hang(_prompt):
        never.wait(20)
        return answered()

    api = Api(hang)
    (completion,) = generation.run(api, [[PROMPT]], 16, 0.05, concurrency=1)
    never.set()
    assert completion.state == "timeout"
    assert completion.error
