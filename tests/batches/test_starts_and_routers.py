"""A start that failed for no lasting reason is tried again; routers lose a server before it stops."""

from __future__ import annotations

DIED = {
    "failed": True,
    "verdict": "refuted",
    "msg": "It died.",
    "conditions": [],
    "diagnosis": [{"code": "scheduler_exception", "summary": "a scheduler died", "remedy": "look"}],
}
NO_DRAFT = {"failed": True, "verdict": "refuted", "msg": "No draft.", "conditions": []}
ROUTERS = {"mtp_router_urls": ["http://router:30100"]}


def test_a_server_that_dies_is_started_as_often_as_allowed(fleet):
    fleet.add("gpu01", mtp_verify=DIED)
    run = fleet.run(mtp_start_attempts=3)
    before_going_back = run.calls["gpu01"][: run.calls["gpu01"].index("service_unit restored")]
    assert before_going_back.count("service_restart") == 3
    assert run.records["gpu01"]["starts"] == 3
    assert run.records["gpu01"]["reason"].startswith("It died.")


def test_the_old_server_gets_as_many_starts_as_the_new_one(fleet):
    died = {"failed": True, "ready": False, "msg": "It died.", "diagnosis": [{"code": "child_died"}]}
    refuted = {"failed": True, "msg": "No draft model was loaded.", "verdict": "refuted", "conditions": []}
    fleet.add("gpu01", mtp_verify=refuted, server_ready=died)
    run = fleet.run(mtp_start_attempts=3)
    back = run.calls["gpu01"][run.calls["gpu01"].index("service_unit restored") :]
    assert back.count("service_restart") == 3
    assert "THE LAST KNOWN GOOD SERVER IS NOT BACK: It died." in run.records["gpu01"]["reason"]


def test_a_server_that_is_refuted_alive_is_not_started_again(fleet):
    fleet.add("gpu01", mtp_verify=NO_DRAFT)
    run = fleet.run()
    assert run.calls["gpu01"].count("mtp_verify") == 1


def test_a_server_leaves_its_routers_before_the_restart_and_comes_back_after_the_soak(fleet):
    fleet.add("gpu01", variables=ROUTERS)
    calls = fleet.run().calls["gpu01"]
    order = [
        calls.index(call) for call in ("router_worker drained", "service_restart", "mtp_soak", "router_worker present")
    ]
    assert order == sorted(order)


def test_a_restored_server_is_admitted_again(fleet):
    fleet.add("gpu01", variables=ROUTERS, mtp_verify=NO_DRAFT)
    calls = fleet.run().calls["gpu01"]
    assert calls[-3:] == ["server_ready", "mtp_prove", "router_worker present"]


def test_a_restored_server_that_is_not_ready_stays_out_of_the_routers(fleet):
    fleet.add("gpu01", variables=ROUTERS, server_ready={"failed": True, "ready": False, "msg": "It died."})
    assert "router_worker present" not in fleet.run().calls["gpu01"]


def test_a_router_that_is_down_stops_the_host_before_its_restart(fleet):
    down = {"failed": True, "msg": "The router http://router:30100 does not answer."}
    fleet.add("gpu01", variables=ROUTERS, router_worker__drained=down, service_unit__restored={"restart_needed": False})
    run = fleet.run()
    assert "service_restart" not in run.calls["gpu01"]
    assert "does not answer" in run.records["gpu01"]["reason"]


def test_tasks_for_other_load_balancers_run_around_the_restart(fleet):
    for name in ("before", "after"):
        (fleet.folder / (name + ".yml")).write_text(
            "- name: Note it\n  ansible.builtin.shell: echo %s >> %s/hosts/gpu01/calls\n  changed_when: true\n"
            % (name, fleet.folder)
        )
    hooks = {
        "mtp_pre_drain_tasks": str(fleet.folder / "before.yml"),
        "mtp_post_admit_tasks": str(fleet.folder / "after.yml"),
    }
    fleet.add("gpu01", variables=hooks)
    calls = fleet.run().calls["gpu01"]
    assert calls.index("before") < calls.index("service_restart") < calls.index("mtp_soak") < calls.index("after")


def test_variables_that_the_command_line_gives_as_text_mean_what_they_say(fleet):
    fleet.add("gpu01")
    run = fleet.run("deploy_mtp", "-e", "mtp_enabled=false", "-e", "mtp_node_rank=0", "-e", "mtp_start_attempts=1")
    assert run.exit_code == 0
    assert "mtp_verify" not in run.calls["gpu01"]
    assert "mtp_prove" in run.calls["gpu01"]


def test_a_server_without_proof_gets_no_requests_while_the_old_one_comes_back(fleet):
    fleet.add("gpu01", variables=ROUTERS, service_unit__proven={"failed": True, "msg": "Disk full."})
    calls = fleet.run().calls["gpu01"]
    back = calls[calls.index("service_unit restored") :]
    assert back.index("router_worker absent") < back.index("service_restart") < back.index("router_worker present")


def test_a_router_that_is_down_does_not_keep_the_old_server_from_coming_back(fleet):
    down = {"failed": True, "msg": "The router http://router:30100 does not answer."}
    fleet.add("gpu01", variables=ROUTERS, mtp_verify=NO_DRAFT, router_worker__absent=down)
    run = fleet.run()
    assert "The last known good server is back and ready." in run.records["gpu01"]["reason"]


def test_a_rollback_that_was_asked_for_waits_for_the_running_requests(fleet):
    fleet.add("gpu01", variables=ROUTERS)
    calls = fleet.run("rollback_mtp").calls["gpu01"]
    order = [calls.index(call) for call in ("router_worker drained", "service_restart", "router_worker present")]
    assert order == sorted(order)
    assert "router_worker absent" not in calls


def test_a_hook_that_does_not_exist_is_found_before_anything_is_changed(fleet):
    fleet.add("gpu01")
    run = fleet.run(mtp_post_admit_tasks="/nowhere/hook.yml")
    assert run.exit_code == 2
    assert run.acted_on() == []
    assert run.records["gpu01"]["reason"].startswith("There is no file /nowhere/hook.yml")


def test_a_hook_that_includes_a_file_that_is_not_there_is_reported_as_what_it_is(fleet):
    (fleet.folder / "hook.yml").write_text("- name: Go on\n  ansible.builtin.include_tasks: nowhere.yml\n")
    fleet.add("gpu01")
    run = fleet.run(mtp_post_admit_tasks=str(fleet.folder / "hook.yml"))
    assert run.exit_code == 2
    assert run.records["gpu01"]["action"] == "rolled_back"
    assert "0 of 1 hosts proven, 1 refuted" in run.output


def test_a_fleet_without_mtp_is_audited_for_what_it_is(fleet):
    fleet.add("gpu01")
    run = fleet.run("verify_mtp", mtp_enabled=False)
    assert run.exit_code == 0
    assert "mtp_verify" not in run.calls["gpu01"]
