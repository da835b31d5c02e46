"""The systemd units: valid, hardened, naming a command that exists, and leaving Winnow what it needs."""

import ctypes
import errno
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import builders
from shares import assert_sound, command
from winnowd import commands, errors

UNITS = Path(__file__).parents[2] / "systemd"
SERVICES = ("winnow-scan.service", "winnowd.service")
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
needs_sysusers = pytest.mark.skipif(shutil.which("systemd-sysusers") is None, reason="systemd-sysusers is not installed")


def settings(unit: str) -> dict[str, list[str]]:
    """The values of each directive of a unit, in their order."""
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", (UNITS / unit).read_text(), re.M):
        found.setdefault(key, []).append(value)
    return found


def test_the_scan_is_a_command_that_exists():
    (line,) = settings("winnow-scan.service")["ExecStart"]
    assert line.split()[-1] in commands.COMMANDS


def test_both_services_run_the_same_program_with_the_same_configuration_and_account():
    (scan,), (run,) = (settings(unit)["ExecStart"] for unit in SERVICES)
    assert scan.split()[0] == run.split()[0]
    assert re.search(r"--config (\S+)", scan)[1] == re.search(r"--config (\S+)", run)[1]
    for key in ("User", "Group", "UMask", "StateDirectory", "StateDirectoryMode", "ConfigurationDirectory"):
        assert settings(SERVICES[0])[key] == settings(SERVICES[1])[key]


@needs_systemd
def test_the_units_are_valid(tmp_path):
    for unit in (*UNITS.glob("*.service"), *UNITS.glob("*.timer")):
        text = unit.read_text().replace("/opt/winnow/bin/winnow", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "winnow" in line]
    assert ours == []


@needs_systemd
@pytest.mark.parametrize("unit", SERVICES)
def test_the_service_is_hardened(unit):
    argv = ["systemd-analyze", "security", "--offline=true", "--threshold=12", str(UNITS / unit)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]


def test_nothing_in_the_unit_ties_the_service_to_a_share_or_hides_one_that_is_mounted_later():
    found = settings("winnowd.service")
    hides = {
        "RootDirectory",
        "RootImage",
        "BindPaths",
        "BindReadOnlyPaths",
        "TemporaryFileSystem",
        "InaccessiblePaths",
        "MountFlags",
    }
    assert not found.keys() & {"RequiresMountsFor", "BindsTo", "PartOf", "Requires", *hides}
    assert found["ProtectHome"] == ["read-only"]


def test_only_an_exit_that_a_restart_cannot_mend_keeps_the_service_down():
    assert settings("winnowd.service")["RestartPreventExitStatus"] == [str(errors.EXIT_CONFIG)]


@needs_sysusers
def test_the_account_of_the_service_is_made_by_sysusers():
    argv = ["systemd-sysusers", "--dry-run", str(UNITS / "winnowd.sysusers")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert settings("winnowd.service")["User"] == ["winnowd"]
    assert re.search(r"^u winnowd - ", (UNITS / "winnowd.sysusers").read_text(), re.M)


def allowed_calls(unit: str) -> set[str]:
    """The system calls that a unit leaves, with the sets of this machine's systemd."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True).stdout
    sets: dict[str, list[str]] = {}
    for line in listed.splitlines():
        if line.startswith("@"):
            members = sets.setdefault(line.strip(), [])
        elif line.startswith("    ") and not line.lstrip().startswith("#"):
            members.append(line.strip())

    def expanded(name: str) -> set[str]:
        return {call for member in sets[name] for call in expanded(member)} if name.startswith("@") else {name}

    calls = expanded("@default")
    for value in settings(unit)["SystemCallFilter"]:
        named = {call for name in value.lstrip("~").split() for call in expanded(name)}
        calls = calls - named if value.startswith("~") else calls | named
    return calls


def confined(calls: set[str]) -> None:
    """Put this process under the filter, and under the kernel's W^X, as the unit would. It cannot be undone."""
    seccomp, libc = ctypes.CDLL("libseccomp.so.2"), ctypes.CDLL(None, use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(seccomp.seccomp_init(0x00050000 | errno.EPERM))  # SCMP_ACT_ERRNO
    for call in calls:
        if (number := seccomp.seccomp_syscall_resolve_name(call.encode())) != -1:  # no such call on this processor
            seccomp.seccomp_rule_add(rules, 0x7FFF0000, number, 0)  # SCMP_ACT_ALLOW
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    libc.prctl(65, 1, 0, 0, 0)  # PR_SET_MDWE, from Linux 6.3 on
    if seccomp.seccomp_load(rules) != 0:
        raise OSError("the filter could not be loaded")


@pytest.fixture
def calls():
    """What winnowd.service allows, on a machine where that can be enforced."""
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed")
    return allowed_calls("winnowd.service")


@needs_systemd
def test_every_format_is_read_below_the_unit_s_filter(share, calls):
    share.write("a.md", "# Birds\n\nThe dunlin is small and eats worms on the mudflat at low tide.\n")
    share.write("b.html", builders.html_article())
    share.write("c.docx", builders.docx_file(builders.docx_paragraph("The sanderling runs before the waves.")))
    share.write("d.pdf", builders.pdf_pages(builders.pdf_text(72, 700, "The knot flies to the Arctic in one go.")))
    argv = command("scan", "--db", share.db, share.root)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, preexec_fn=lambda: confined(calls))
    assert done.returncode == 0, done.stderr
    assert {word: share.found(word) for word in ("dunlin", "sanderling", "knot")} == {
        "dunlin": {"a.md"},
        "sanderling": {"c.docx"},
        "knot": {"d.pdf"},
    }
    assert_sound(share.db)


@needs_systemd
def test_a_child_may_confine_itself_further_and_nothing_may_reach_beyond(calls):
    assert calls >= {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "prctl", "prlimit64"}
    assert not calls & {"chown", "mount", "ptrace", "bpf", "io_uring_setup", "setuid", "perf_event_open", "keyctl"}
