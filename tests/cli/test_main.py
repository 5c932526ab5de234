"""The program as a whole: its version, its exit codes, and what a person sees of an error."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from polytune.cli.commands import doctor
from polytune.cli.main import app, main
from polytune.errors import CacheWarning, CompilationError
from polytune.version import __version__

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "inspect",
    "tune",
    "report",
    "build",
    "history",
    "simulate",
    "convert",
    "compare",
    "doctor",
    "warmup",
    "check",
    "transfer",
)


@pytest.fixture
def failing(monkeypatch):
    """Make the command ``doctor`` fail with an error of choice."""

    def fail_with(error: BaseException) -> None:
        def examine():
            raise error

        monkeypatch.setattr(doctor, "examine", examine)

    return fail_with


def test_version(run):
    assert run("--version").out == f"polytune {__version__}\n"


def test_module_is_the_same_program():
    ran = subprocess.run(
        [sys.executable, "-m", "polytune", "--version"], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (0, f"polytune {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_debug(run, command):
    shown = run(command, "--help")
    assert shown.code == 0
    assert "--json" in shown.out
    assert "--debug" in shown.out


def test_every_file_of_a_command_is_a_command_and_nothing_else_is():
    files = {file.stem for file in (ROOT / "polytune" / "cli" / "commands").glob("*.py")} - {"__init__"}
    assert {command.name for command in app.registered_commands} == files == set(COMMANDS)


def test_no_arguments_show_the_commands(run):
    ran = run()
    assert ran.code == 2
    assert all(command in ran.out + ran.err for command in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [("inpsect",), ("inspect",), ("doctor", "--jsno"), ("inspect", "a.py", "--show", "gpu")]
)
def test_bad_usage_exits_with_2_and_writes_to_standard_error_only(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err


def test_error_is_one_message_and_exits_with_1(run, failing):
    failing(CompilationError("version tiled cannot be compiled: out of memory"))
    ran = run("doctor")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: version tiled cannot be compiled: out of memory\n"


def test_operating_system_error_names_the_file(run, failing):
    failing(PermissionError(13, "Permission denied", "/some/file"))
    ran = run("doctor")
    assert ran.code == 1
    assert ran.err.startswith("error: /some/file: Permission denied; name a path that this user may use")


def test_unexpected_error_is_called_a_defect_without_traceback(run, failing):
    failing(KeyError("tile_0"))
    ran = run("doctor")
    assert ran.code == 1
    assert ran.err.startswith("error: KeyError: 'tile_0'\n")
    assert "defect" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("arguments", [("doctor",), ("doctor", "--debug")])
def test_an_interrupt_ends_with_a_word_and_the_code_of_shells(run, failing, arguments):
    failing(KeyboardInterrupt())
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err) == (130, "", "interrupted\n")


@pytest.mark.parametrize("arguments", [("--debug", "doctor"), ("doctor", "--debug")])
def test_debug_lets_the_error_through(failing, arguments):
    failing(CompilationError("no"))
    with pytest.raises(CompilationError, match="no"):
        main(arguments)


def test_own_warning_is_one_line(run, monkeypatch):
    def examine():
        warnings.warn(CacheWarning("the cache cannot be written"), stacklevel=1)
        return ()

    monkeypatch.setattr(doctor, "examine", examine)
    assert run("doctor").err == "warning: the cache cannot be written\n"


def test_help_does_not_load_the_compiler():
    """Help and usage errors answer at once."""
    program = (
        "import sys\nfrom polytune.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*sorted({'islpy', 'sympy'} & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (ran.returncode, ran.stderr.strip()) == (0, "")


def test_no_memory_is_a_sentence(run, failing):
    failing(MemoryError("Unable to allocate 728. TiB"))
    ran = run("doctor")
    assert (ran.code, ran.err) == (1, "error: there is not enough memory: Unable to allocate 728. TiB\n")
