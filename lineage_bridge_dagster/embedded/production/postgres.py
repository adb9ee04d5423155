"""A PostgreSQL server of this machine's packages, with a database for one Dagster instance."""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.components import StackError
from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.errors import ConfigurationError

#: Where Debian's packages have the programs of each version.
_VERSIONS = Path("/usr/lib/postgresql")
#: The user that Debian's packages create; PostgreSQL refuses to run as root.
_USER = "postgres"
_READY_SECONDS = 60.0


@dataclass(slots=True)
class PostgresServer:
    """PostgreSQL on a free port of the loopback interface, for one stack.

    It runs as this user, with its data among the stack's. PostgreSQL refuses to run as root: then it runs as
    the user `postgres`, who cannot enter each folder, and its data are in the system's temporary folder until
    it stops.
    """

    paths: StackPaths
    #: Its name among the stack's processes.
    component: str
    port: int = field(default_factory=free_port)
    database: str = "dagster"
    #: Owner of the database, without further rights.
    username: str = "dagster"

    @property
    def env(self) -> Mapping[str, str]:
        """The variables of `deploy/dagster.yaml`, and libpq's for the file with the password."""
        return {
            "DAGSTER_PG_HOST": HOST,
            "DAGSTER_PG_PORT": str(self.port),
            "DAGSTER_PG_DB": self.database,
            "DAGSTER_PG_USERNAME": self.username,
            "PGPASSFILE": str(self._pass_file),
        }

    def change_password(self) -> None:
        """Give Dagster's user another password, in the database and in the file."""
        password = secrets.token_urlsafe(24)
        self._run(_programs(), f"ALTER ROLE {self.username} PASSWORD '{password}';\n")
        self._write_pass_file(password)

    def start(self) -> processes.Running:
        """Start the server, with a new cluster if there is none, and wait until it accepts connections.

        Raises:
            ConfigurationError: PostgreSQL is not installed.
            StackError: It did not start.
        """
        programs = _programs()
        is_new = not (self._data / "PG_VERSION").exists()
        if is_new:
            self._create(programs)
        settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            # No further way in, and no folder that the socket's path would not fit into.
            "unix_socket_directories": "",
            # Only a crash of the machine would lose data by it.
            "fsync": "off",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command: list[str | Path] = [programs / "postgres", "-D", self._data, *options]
        running = processes.start(self.paths, self.component, command, {}, user=self._user)
        self._wait(running, programs)
        if is_new:
            self._add_database(programs)
            self._write_pass_file(self._password)
        return running

    def stop(self) -> None:
        """Stop the server, whoever is connected, and remove data that is not kept."""
        running = processes.find(self.paths).get(self.component)
        if running is not None:
            # A termination would wait for the clients; an interrupt does not.
            running.process.send_signal(signal.SIGINT)
            processes.wait([running.process], 20)
        processes.stop(self.paths, [self.component])
        if self._user is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _user(self) -> str | None:
        """The user to run as, if not this one."""
        return _USER if os.geteuid() == 0 else None

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        if self._user is None:
            return self.paths.data / "postgres"
        digest = hashlib.sha256(str(self.paths.home).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"lineage-bridge-postgres-{digest}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _password(self) -> str:
        """The administrator's password, and at first that of Dagster's user; this user alone can read it."""
        file = self.paths.run / "postgres.password"
        if not file.exists():
            file.touch(0o600)
            file.write_text(secrets.token_urlsafe(24), encoding="utf-8")
        return file.read_text(encoding="utf-8")

    @property
    def _pass_file(self) -> Path:
        """libpq's file of passwords, which it reads at each connection."""
        return self.paths.run / "postgres.pgpass"

    def _write_pass_file(self, password: str) -> None:
        self._pass_file.touch(0o600)
        # The port is another one at each start.
        line = f"{HOST}:*:{self.database}:{self.username}:{password}\n"
        self._pass_file.write_text(line, encoding="utf-8")

    def _create(self, programs: Path) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        password = self.folder / "password"
        password.touch(0o600)
        password.write_text(self._password, encoding="utf-8")
        if self._user is not None:
            for path in (self.folder, password):
                shutil.chown(path, self._user)
        # Of the server's own administrator; Dagster's user has the same password at first.
        access = ("--username", _USER, "--auth", "scram-sha-256", "--pwfile", password)
        command: list[str | Path] = [
            programs / "initdb",
            "-D",
            self._data,
            *access,
            "--encoding",
            "UTF8",
            "--no-locale",
        ]
        made = subprocess.run(
            [*command, "--no-sync"],
            capture_output=True,
            text=True,
            check=False,
            user=self._user,
            cwd=tempfile.gettempdir(),
        )
        password.unlink()
        if made.returncode != 0:
            raise StackError(
                f"PostgreSQL could not create its files in {self._data}:\n{made.stderr.strip()}",
                hint=f"Remove {self.folder} and try again.",
            )

    def _add_database(self, programs: Path) -> None:
        self._run(
            programs,
            f"CREATE ROLE {self.username} LOGIN PASSWORD '{self._password}';\n"
            f"CREATE DATABASE {self.database} OWNER {self.username};\n",
        )

    def _run(self, programs: Path, statements: str) -> None:
        """Run statements as the administrator.

        Raises:
            StackError: one failed.
        """
        address = ("-h", HOST, "-p", str(self.port), "-U", _USER, "-d", "postgres")
        # Through a pipe, as arguments are visible to every user of the machine.
        made = subprocess.run(
            [programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *address],
            input=statements,
            env={**os.environ, "PGPASSWORD": self._password},
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            raise StackError(f"PostgreSQL refused a statement:\n{made.stderr.strip()}")

    def _wait(self, running: processes.Running, programs: Path) -> None:
        until = time.monotonic() + _READY_SECONDS
        asked: list[str | Path] = [programs / "pg_isready", "-q", "-h", HOST, "-p", str(self.port)]
        while subprocess.run(asked, check=False).returncode != 0:
            if not processes.is_alive(running.process) or time.monotonic() > until:
                tail = processes.end_of_log(self.paths, self.component)
                raise StackError(f"PostgreSQL did not start. The end of its log:\n{tail}")
            time.sleep(0.1)


def _programs() -> Path:
    """The folder of PostgreSQL's programs, of the newest version that the system's packages have installed.

    Raises:
        ConfigurationError: PostgreSQL is not installed, or there is no user to run it as.
    """
    found = sorted(_VERSIONS.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    program = found[-1] if found else Path(on_path).resolve() if on_path else None
    if program is None:
        raise ConfigurationError("PostgreSQL is not installed.", hint="Install it with: make postgres")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(_USER)
        except KeyError:
            raise ConfigurationError(
                f"PostgreSQL does not run as root, and there is no user {_USER}.",
                hint="Run the command as another user.",
            ) from None
    return program.parent
