# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from fleet.debian_archive import pick_archive, pick_settings

# As `apt-get indextargets` prints the fields asked for.
TARGETS = """Elsewhere|Debian|main|https://third.example/debian/
Debian|Debian-Security|main|http://mirror.example/debian-security/
Debian|Debian|contrib|http://other.example/debian/
Debian|Debian|main|mirror+file:/etc/apt/mirrors/debian.list/
Debian|Debian|main|http://mirror.example/debian/
"""

# As `apt-config dump` prints it.
CONFIG = """APT "";
APT::Architecture "amd64";
Acquire "";
Acquire::Retries "3";
Acquire::http "";
Acquire::http::Proxy "http://user:secret@proxy.example:3128";
Acquire::https::CAInfo "/etc/ssl/certs/own.pem";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::Packages::MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
Acquire::Languages "none";
Dir::Etc::netrc "auth.conf";
DPkg::Pre-Install-Pkgs:: "/usr/sbin/dpkg-preconfigure --apt || true";
"""


def test_the_main_archive_of_this_machine_is_picked():
    assert pick_archive(TARGETS) == "mirror+file:/etc/apt/mirrors/debian.list/"


def test_no_archive_without_debian_among_the_sources():
    assert pick_archive("Ubuntu|Ubuntu|main|http://mirror.example/ubuntu/\n") is None
    assert pick_archive("") is None


def test_how_the_archive_is_reached_is_kept_and_nothing_else():
    assert pick_settings(CONFIG).splitlines() == [
        'Acquire::Retries "3";',
        'Acquire::http "";',
        'Acquire::http::Proxy "http://user:secret@proxy.example:3128";',
        'Acquire::https::CAInfo "/etc/ssl/certs/own.pem";',
        'Acquire::Check-Valid-Until "false";',
        'Dir::Etc::netrc "/etc/apt/auth.conf";',
        'Dir::Etc::netrcparts "/etc/apt/auth.conf.d";',
    ]
