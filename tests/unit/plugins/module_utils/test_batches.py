from __future__ import annotations

import pytest
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible_collections.llmops.sglang.plugins.module_utils.batches import batch_of, cut, sizes

HOSTS = ["gpu%02d" % number for number in range(1, 24)]
SIZES = [[1, "10%", "50%", "100%"], [2, 2], ["30%"], "100%", 5, "5", [1], [0], ["1%"], [3, "50%"], [100], []]


class Inventory:
    def get_hosts(self, *args, **kwargs):
        return list(HOSTS)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_hosts_are_cut_as_ansible_itself_cuts_them(sizes):
    class Play:
        hosts = HOSTS
        order = None
        serial = sizes if isinstance(sizes, list) else [sizes]

    executor = PlaybookExecutor.__new__(PlaybookExecutor)
    executor._inventory = Inventory()
    if not Play.serial:
        Play.serial = [-1]
    assert cut(HOSTS, sizes) == executor._get_serialized_batches(Play)


def test_every_host_knows_its_batch():
    batches = cut(HOSTS, [1, "10%", "50%", "100%"])
    assert [batch_of(host, batches) for host in HOSTS[:5]] == [1, 2, 2, 3, 3]
    assert batch_of(HOSTS[-1], batches) == 4


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ([1], [["a1", "a2"], ["b"], ["c1", "c2", "c3"], ["d"]]),
        ([3, 1], [["a1", "a2", "b"], ["c1", "c2", "c3"], ["d"]]),
        ([4, "100%"], [["a1", "a2", "b", "c1", "c2", "c3"], ["d"]]),
        (["100%"], [["a1", "a2", "b", "c1", "c2", "c3", "d"]]),
    ],
)
def test_no_batch_ends_inside_a_group(sizes, batches):
    groups = {"a1": "a", "a2": "a", "c1": "c", "c2": "c", "c3": "c"}
    assert cut(["a1", "a2", "b", "c1", "c2", "c3", "d"], sizes, groups) == batches


def test_no_host_is_no_batch():
    assert cut([], [1]) == []


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ([1, "10%"], [1, "10%"]),
        ("[1]", [1]),
        ("1,50%", [1, "50%"]),
        ('[1, "50%"]', [1, "50%"]),
        (5, [5]),
        ("100%", ["100%"]),
        (["2"], [2]),
    ],
)
def test_sizes_are_taken_as_a_list_and_as_the_text_of_the_command_line(value, result):
    assert sizes(value) == result


@pytest.mark.parametrize("value", ["", [], "all", [0], ["-1"], [1.5], None, "10 %"])
def test_what_is_no_size_is_refused_by_name(value):
    with pytest.raises(ValueError, match="mtp_batches"):
        sizes(value)
