# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The three ways to ask for text, ``/generate``, ``/v1/completions`` and ``/v1/chat/completions``, as data.

Each turns a request body into a Question, and a (part of an) answer into the document of its endpoint.
"""

from __future__ import annotations

import dataclasses
import time

from sglang import speculation, timings
from sglang.engine import Request
from sglang.generation import LONGEST_ANSWER, text_of, token_ids
from sglang.run import Run


class BadRequest(Exception):
    """What a real server answers with 400."""


@dataclasses.dataclass(frozen=True)
class Question:
    prompt: str
    max_tokens: int
    temperature: float
    stream: bool
    with_meta_info: bool = False


class Generate:
    """SGLang's own API: the text so far in every chunk, and ``meta_info``."""

    path = "/generate"
    default_max_tokens = 128

    @classmethod
    def question(cls, body: dict) -> Question:
        sampling = body.get("sampling_params") or {}
        prompt = body.get("text")
        if prompt is None:
            prompt = " ".join(map(str, body.get("input_ids") or []))
        if not isinstance(prompt, str) or not prompt:
            raise BadRequest("Either text, input_ids or input_embeds should be provided.")
        tokens = sampling.get("max_new_tokens", cls.default_max_tokens)
        return Question(prompt, checked(tokens), float(sampling.get("temperature", 1.0)), bool(body.get("stream")))

    @staticmethod
    def answer(run: Run, request: Request, question: Question) -> dict:
        return Generate.chunk(run, request, question, 0, len(request.words))

    @staticmethod
    def chunk(run: Run, request: Request, question: Question, shown: int, done: int) -> dict:
        words = request.words[:done]
        return {"text": text_of(words), "output_ids": token_ids(words), "meta_info": meta_info(run, request, done)}


class Completions:
    path = "/v1/completions"
    default_max_tokens = 16
    kind = "text_completion"
    chunk_kind = "text_completion"

    @classmethod
    def question(cls, body: dict) -> Question:
        prompt = body.get("prompt")
        if isinstance(prompt, list):
            prompt = " ".join(map(str, prompt))
        if not prompt:
            raise BadRequest("prompt is required")
        return cls.asked(body, prompt)

    @classmethod
    def asked(cls, body: dict, prompt: str) -> Question:
        tokens = body.get("max_tokens") or body.get("max_completion_tokens") or cls.default_max_tokens
        return Question(
            prompt,
            checked(tokens),
            float(body.get("temperature", 1.0)),
            bool(body.get("stream")),
            bool(body.get("return_meta_info")),
        )

    @classmethod
    def answer(cls, run: Run, request: Request, question: Question) -> dict:
        done = len(request.words)
        choice = {"index": 0, **cls.whole(text_of(request.words)), "logprobs": None, **finish(request, question)}
        if question.with_meta_info:
            choice["meta_info"] = meta_info(run, request, done)
        return {**cls.head(run, request, cls.kind), "choices": [choice], "usage": usage(request, done)}

    @classmethod
    def chunk(cls, run: Run, request: Request, question: Question, shown: int, done: int) -> dict:
        ending = finish(request, question) if done >= len(request.words) else {"finish_reason": None}
        choice = {"index": 0, **cls.part(text_of(request.words[shown:done])), "logprobs": None, **ending}
        return {**cls.head(run, request, cls.chunk_kind), "choices": [choice], "usage": None}

    @staticmethod
    def head(run: Run, request: Request, kind: str) -> dict:
        model = run.fields["served_model_name"]
        return {"id": request.rid, "object": kind, "created": int(request.started), "model": model}

    @staticmethod
    def whole(text: str) -> dict:
        return {"text": text}

    part = whole


class ChatCompletions(Completions):
    path = "/v1/chat/completions"
    default_max_tokens = LONGEST_ANSWER
    kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    @classmethod
    def question(cls, body: dict) -> Question:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise BadRequest("messages is required")
        return cls.asked(body, "\n".join(f"{message.get('role')}: {message.get('content')}" for message in messages))

    @staticmethod
    def whole(text: str) -> dict:
        return {"message": {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}}

    @staticmethod
    def part(text: str) -> dict:
        return {"delta": {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}}


def checked(tokens: object) -> int:
    if not isinstance(tokens, int) or tokens < 1:
        raise BadRequest(f"max_new_tokens must be at least 1, got {tokens!r}.")
    return tokens


def finish(request: Request, question: Question) -> dict:
    reason = "length" if len(request.words) >= question.max_tokens else "stop"
    return {"finish_reason": reason, "matched_stop": None}


def usage(request: Request, done: int) -> dict:
    prompt = request.prompt_tokens
    return {"prompt_tokens": prompt, "total_tokens": prompt + done, "completion_tokens": done}


def meta_info(run: Run, request: Request, done: int) -> dict:
    finished = done >= len(request.words)
    return {
        "id": request.rid,
        "finish_reason": {"type": "length", "length": done} if finished else None,
        "prompt_tokens": request.prompt_tokens,
        "weight_version": "default",
        run.release.retractions_key: 0,
        **(speculation.meta_info(request.counts, done, run.release) if request.counts else {}),
        "completion_tokens": done,
        "cached_tokens": request.cached_tokens,
        "e2e_latency": time.time() - request.started,
        **(details(request, done) if run.release.details_answers else {}),
    }


def details(request: Request, done: int) -> dict:
    return {
        "reasoning_tokens": 0,
        "cached_tokens_details": None,
        "weight_versions": [{"version": "default", "start": 0, "end": done}],
        "dp_rank": None,
        **timings.of_request(request),
    }
