# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What proof of life makes of a server that is well in an unusual way, and of one that the proof can't reach."""

from __future__ import annotations

import os
import pathlib

import pytest
from testinfra.utils.ansible_runner import AnsibleRunner

testinfra_hosts = AnsibleRunner(os.environ["MOLECULE_INVENTORY_FILE"]).get_hosts("sglang")
TLS = pathlib.Path(__file__).parents[3] / "tests" / "unit" / "fixtures" / "tls"
KEY = "sk-of-the-faults-scenario"


def assert_proven(run, host):
    record = run.record_of(host)
    assert (record["verdict"], record["action"]) == ("proven", "deployed"), record["reason"]
    assert run.exit_code == 0
    return record


def test_a_busy_server_that_misses_health_checks_is_proven(host, deploy, old_server):
    run = deploy(mtp_environment={"STANDIN_FAULT": "busy-503"}, mtp_soak_seconds=12)
    assert_proven(run, host)
    pid = host.check_output("systemctl show --property=InvocationID --value sglang.service")
    assert '"GET /health HTTP/1.1" 503' in host.check_output("journalctl --output=cat _SYSTEMD_INVOCATION_ID=%s", pid)


@pytest.mark.parametrize("accept_length", ["1.0", "1.12"])
def test_drafts_that_are_right_by_luck_alone_are_no_speculation(host, deploy, old_unit, accept_length):
    record = deploy(mtp_environment={"STANDIN_ACCEPT_LENGTH": accept_length}).record_of(host)
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert {condition["status"] for condition in record["conditions"]} == {"met"}
    assert record["accept_length"] < 1.3
    assert "weights" in record["reason"]


def test_a_server_that_skips_its_warm_up_is_proven_by_its_first_generation(host, deploy, old_server):
    record = assert_proven(deploy(mtp_server_args=["--skip-server-warmup"]), host)
    assert record["accept_length"] > 1.3


def test_a_key_from_a_file_opens_the_server_and_shows_nowhere(host, deploy, old_server, put_file, tmp_path):
    run = deploy(
        "-vvv",
        mtp_server_args=["--config", put_file("/etc/sglang/server.yaml", "api-key: %s\n" % KEY)],
        mtp_api_key_file=put_file("/etc/sglang/api-key", KEY + "\n"),
    )
    record = assert_proven(run, host)
    assert record["accept_length"] > 1.3
    status = "curl --silent --output /dev/null --write-out '%%{http_code}' %s"
    assert host.check_output(status, "http://127.0.0.1:30000/v1/models") == "401"
    assert KEY not in run.output
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY in path.read_text("utf-8")] == []
    assert host.run("grep --recursive --quiet %s /etc/systemd/system", KEY).rc == 1
    # The way back keeps the server's file as it is, where nobody but root can read it.
    assert host.check_output("find /var/lib/llmops-sglang -mindepth 1 -perm /077") == ""


def test_a_wrong_key_is_called_a_wrong_key_and_no_verdict_on_the_server(host, deploy, old_unit, put_file):
    run = deploy(
        mtp_server_args=["--config", put_file("/etc/sglang/server.yaml", "api-key: %s\n" % KEY)],
        mtp_api_key="sk-of-another-server",
    )
    record = run.record_of(host)
    assert run.exit_code == 2
    assert (record["verdict"], record["action"]) == ("inconclusive", "rolled_back")
    assert "401 (Unauthorized)" in record["reason"]
    assert "sk-of-another-server" not in run.output + str(record)


def test_a_server_with_a_private_ca_is_proven_over_tls(host, deploy, old_server, put_file):
    pem = put_file("/etc/sglang/server.pem", (TLS / "server.pem").read_text(encoding="utf-8"))
    run = deploy(
        mtp_server_args={"--ssl-certfile": pem, "--ssl-keyfile": pem},
        mtp_url="https://127.0.0.1:30000",
        mtp_ca_path=put_file("/etc/sglang/ca.pem", (TLS / "ca.pem").read_text(encoding="utf-8")),
    )
    assert assert_proven(run, host)["accept_length"] > 1.3


def test_a_certificate_of_an_unknown_ca_ends_the_wait_and_the_old_server_is_back(host, deploy, old_unit, put_file):
    pem = put_file("/etc/sglang/server.pem", (TLS / "server.pem").read_text(encoding="utf-8"))
    run = deploy(mtp_server_args={"--ssl-certfile": pem, "--ssl-keyfile": pem}, mtp_url="https://127.0.0.1:30000")
    record = run.record_of(host)
    assert (run.exit_code, record["action"]) == (2, "rolled_back")
    assert "Give the CA as ca_path" in record["reason"]
    assert "The last known good server is back and ready." in record["reason"]


@pytest.mark.parametrize(
    ("happens", "words"),
    [("restart", "was replaced by"), ("kill --signal=KILL", "is dead")],
    ids=["restarted", "ready-then-dead"],
)
def test_a_server_that_does_not_stay_through_the_soak_is_refused(host, deploy, old_unit, happens, words):
    def once_the_soak_runs(line):
        if "See that the server stays as it was proven" in line:
            host.check_output("systemctl %s sglang.service" % happens)

    record = deploy(on_line=once_the_soak_runs, mtp_soak_seconds=60).record_of(host)
    assert (record["verdict"], record["action"]) == ("refuted", "rolled_back")
    assert "of the soak: The instance" in record["reason"]
    assert words in record["reason"]
