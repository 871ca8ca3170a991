# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turn the captured log of a real server into a banner template of the stand-in.

    python record_template.py tests/unit/fixtures/captured/0.5.23-nextn.log > sglang/data/templates/0.5.23.json

The template holds every field of the ``server_args`` line in its order, as a server without speculation
prints it: what the flags of the capture changed is put back, so that nothing in a template can show
speculation that no flag asked for.
"""

from __future__ import annotations

import ast
import json
import sys

from sglang.graphs import set_decode_batch_sizes

AS_WITHOUT_FLAGS = {
    "max_running_requests": None,
    "speculative_algorithm": None,
    "speculative_draft_model_path": None,
    "speculative_draft_model_revision": None,
    "speculative_num_steps": None,
    "speculative_eagle_topk": None,
    "speculative_num_draft_tokens": None,
    "mamba_scheduler_strategy": "auto",
    "mamba_radix_cache_strategy": "auto",
    "random_seed": None,
    "tp_size": 1,
}


def recorded_fields(log: str) -> dict:
    """The fields of the last ``server_args=`` line, in either of SGLang's two forms."""
    text = [line for line in log.splitlines() if "server_args=" in line][-1].partition("server_args=")[2]
    return to_json(ast.parse(text, mode="eval").body)


def to_json(node: ast.expr):
    """A literal as it is; a call ``Name(k=v)`` as a mapping that keeps the name under ``__class__``."""
    if isinstance(node, ast.Call):
        return {"__class__": node.func.id, **{word.arg: to_json(word.value) for word in node.keywords}}
    return ast.literal_eval(node)


def without_flags(fields: dict) -> dict:
    plain = {name: AS_WITHOUT_FLAGS.get(name, value) for name, value in fields.items() if name != "__class__"}
    set_decode_batch_sizes(plain, speculative=False)
    return plain


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        fields = without_flags(recorded_fields(file.read()))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
    print(f"{{\n{lines}\n}}")


if __name__ == "__main__":
    main()
