from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import scale


def cost(hosts, controller, modules=0.0):
    return scale.Cost(hosts, controller + modules, modules, 1.0, 1.0)


def test_what_the_modules_took_is_no_cost_of_the_controller():
    assert cost(4, controller=8, modules=4).controller == 2
    assert cost(4, controller=8, modules=4).all == 3


def test_growth_and_share_are_judged_and_the_whole_rollout_is_shown():
    costs = {
        10: {
            scale.OURS: cost(10, 20),
            scale.BUILTIN: cost(10, 10),
            scale.OUR_JUDGEMENT: cost(10, 2),
            scale.BUILTIN_JUDGEMENT: cost(10, 5),
        },
        200: {scale.OURS: cost(200, 300), scale.BUILTIN: cost(200, 150)},
    }
    judged = {what: (ratio, limit) for what, ratio, _with_modules, limit in scale.ratios(costs)}
    assert judged == {
        "deploy_mtp, 200 hosts to 10": (0.75, scale.LARGEST_GROWTH),
        "builtin rollout, 200 hosts to 10": (0.75, None),
        "same job, ours to builtin, 10 hosts": (0.4, scale.LARGEST_SHARE),
        "whole rollout, ours to builtin, 200 hosts": (2.0, None),
    }
