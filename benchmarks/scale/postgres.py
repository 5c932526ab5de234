"""A PostgreSQL server of this process's own: on a free port of the loopback address, in a folder that goes with it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["PASSWORD", "USER", "Postgres", "programs", "running_server"]

PASSWORD = "a secret @ of tests"
USER = "someone"


def programs() -> Path | None:
    """The folder of the newest PostgreSQL's programs; None where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def other_user() -> str | None:
    """Whom to run the server as, which refuses to run as root; None to run it as this user."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Postgres:
    """A server that can be killed and started again.

    Args:
        folder: where its data are to be; the server's user can read and write there.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.data = folder / "data"
        self.user = other_user()
        found = programs()
        if found is None:
            raise FileNotFoundError("PostgreSQL is not installed")
        self.programs = found
        self.process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        password = folder / "password"
        password.write_text(PASSWORD)
        if self.user is not None:
            for each in (folder, password):
                shutil.chown(each, self.user)
        made = subprocess.run(
            [
                *(self.programs / "initdb", "-D", self.data, "-U", USER, "--auth=scram-sha-256"),
                *(f"--pwfile={password}", "--no-sync", "--encoding=UTF8", "--locale=C"),
            ],
            capture_output=True,
            text=True,
            cwd=folder,
            user=self.user,
            timeout=300,
        )
        assert made.returncode == 0, made.stderr

    def address(self, database: str = "postgres") -> str:
        """The address of a database, with the password."""
        quoted = PASSWORD.replace(" ", "%20").replace("@", "%40")
        return f"postgresql://{USER}:{quoted}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": ""}
        options |= {"shared_buffers": "16MB", "max_connections": 60, "max_wal_size": "64MB", "min_wal_size": "32MB"}
        # What was committed has to outlive a killed server, not a machine without power.
        options |= {"fsync": "off", "logging_collector": "off"}
        command = [str(self.programs / "postgres"), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, user=self.user)
        for _ in range(1200):
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            if self.answers():
                return
            time.sleep(0.1)
        raise AssertionError("the server does not answer within two minutes")

    def answers(self) -> bool:
        """Return whether the server takes connections."""
        import psycopg

        try:
            psycopg.connect(self.address(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement; its rows, where it has any.

        Args:
            statement: what is run.
            database: where.
        """
        import psycopg

        with psycopg.connect(self.address(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """End all of the server at once, as a crash does."""
        if self.process is None:
            return
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        self.process.kill()
        self.process.wait()
        for child in children.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        self.process = None


@contextlib.contextmanager
def running_server() -> Iterator[Postgres]:
    """A server that runs until the end of a block.

    Raises:
        FileNotFoundError: PostgreSQL is not installed.
    """
    folder = Path(tempfile.mkdtemp(prefix="polytune-postgres-"))
    server = None
    try:
        server = Postgres(folder)
        server.start()
        yield server
    finally:
        if server is not None:
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)
