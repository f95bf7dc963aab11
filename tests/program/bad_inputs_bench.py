"""What the test of bad inputs stands on: a good setup of two parties, small changes to it, and how a party runs.

Every value in the data holds MARK, so that a message that tells a value is found.
"""

import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

MARK = "7771777"
ROWS = 24
PATIENCE = 59  # seconds that a party waits for its peer; each row has its own
LIMIT = 80  # seconds after which a party counts as hanging; far more than any takes on a slow machine
HEADER, DIGEST = 160, 32  # of the files of a run: base/checked_file.h

_ports = itertools.count(21000 + os.getpid() % 500 * 20)
_ports_lock = threading.Lock()


def free_port():
    """A port that nobody listens at, below those that systems give to clients."""
    with _ports_lock:
        while True:
            port = 21000 + next(_ports) % 10000
            with socket.socket() as trial:
                try:
                    trial.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    continue


def job_text(party, port):
    peer = "b" if party == "a" else "a"
    label = "\n    label_column: y" if party == "b" else ""
    return f"""shared:
  model: {{kind: lr, top: open}}
  training: {{epochs: 1, batch: 8, learning_rate: 0.1}}
  scheme: {{allowed: [lattice]}}
  alignment: {{mode: intersection}}
private:
  party: {party}
  data:
    train: train.csv
    test: test.csv
    score: test.csv
    id_column: id
    default_kind: numeric{label}
  link:
    {"dial" if party == "a" else "listen"}: "127.0.0.1:{port}"
    certificate: {party}.crt
    key: {party}.key
    peer: ../{peer}/{peer}.crt
    patience: {PATIENCE}
  resources: {{threads: 1}}
{"  accept: open_top" if party == "a" else ""}
"""


def table(party, first=0, rows=ROWS):
    lines = ["id,x,z" if party == "a" else "id,u,y"]
    for i in range(first, first + rows):
        x = f"{(i * 37) % 100 / 100:.2f}{MARK}"
        lines.append(f"id{MARK}-{i},{x},{'-' if i % 3 else ''}{x}" if party == "a" else
                     f"id{MARK}-{i},{x},{'yes' if i % 2 else 'no'}{MARK}")
    return "\n".join(lines) + "\n"


def make_good(program, folder, port):
    """The setup that works, with a finished run at each party in run/, and those of another run in other/."""
    for party in "ab":
        (folder / party).mkdir(parents=True)
        (folder / party / "train.csv").write_text(table(party))
        (folder / party / "test.csv").write_text(table(party, first=4, rows=8))
        (folder / party / "job.yaml").write_text(job_text(party, port))
    for name in "abc":
        subprocess.run([program, "keygen", "--name", name, "--out", folder / name], check=True, capture_output=True)
    for name in ("run", "other"):
        meet = f"127.0.0.1:{free_port()}"
        both = {"a": Party(program, folder, "a", "train", ["--set", f"private.link.dial={meet}"]),
                "b": Party(program, folder, "b", "train", ["--set", f"private.link.listen={meet}"])}
        for party, run in both.items():
            run.wait()
            assert run.code == 0, f"the good setup does not work at {party}: {run.err}"
            shutil.move(folder / party / "run", folder / party / f"kept_{name}")


class Party:
    """One party's program: started in the folder of the setup, with the party's own job file."""

    def __init__(self, program, folder, party, command, more=()):
        words = command.split() if isinstance(command, str) else list(command)
        if words[0] in ("train", "resume", "predict", "evaluate", "align", "plan"):
            words += ["--job", f"{party}/job.yaml"]
        words += list(more)
        self.command, self.party = words, party
        self._begin = time.monotonic()
        self._process = subprocess.Popen([program, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         stdin=subprocess.DEVNULL)
        self.hung = False
        self.out = self.err = ""

    def wait(self):
        try:
            out, err = self._process.communicate(timeout=max(1.0, self._begin + LIMIT - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.hung = True
            self._process.send_signal(signal.SIGKILL)
            out, err = self._process.communicate()
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")
        self.code = self._process.returncode
        self.seconds = time.monotonic() - self._begin

    def wait_until_it_listens(self):
        """The line that says so; what comes after it is still read by wait()."""
        descriptor = self._process.stdout.fileno()
        seen = b""
        while b"listening on port" not in seen:
            piece = os.read(descriptor, 4096)
            if not piece:
                break
            seen += piece


# Small changes to the good setup. Each is a function of the setup's folder.


def job(party, old, new):
    """Other words in a party's job file, or in both."""

    def change(folder):
        for one in party:
            path = folder / one / "job.yaml"
            text = path.read_text()
            assert old in text, f"the good job has no {old!r}"
            path.write_text(text.replace(old, new, 1))

    return change


def option(party, line):
    """One more line in the section private.data of a party's job file, or of both."""
    return job(party, "    id_column: id\n", f"    id_column: id\n    {line}\n")


def aligned(folder):
    for party in "ab":
        job(party, "mode: intersection", "mode: aligned")(folder)


def put(path, content):
    def change(folder):
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())

    return change


def cell(path, line, column, text):
    """Another text in one cell of a CSV file; lines from 1, columns from 0."""

    def change(folder):
        lines = (folder / path).read_text().splitlines()
        cells = lines[line - 1].split(",")
        cells[column] = text
        lines[line - 1] = ",".join(cells)
        (folder / path).write_text("\n".join(lines) + "\n")

    return change


def remove(path):
    return lambda folder: (folder / path).unlink()


def copy(source, target):
    return lambda folder: shutil.copy2(folder / source, folder / target)


def chmod(path, mode):
    return lambda folder: (folder / path).chmod(mode)


def flip(path, at=-1):
    def change(folder):
        content = bytearray((folder / path).read_bytes())
        content[at] ^= 0x10
        (folder / path).write_bytes(content)

    return change


def cut(path, keep=0.5):
    def change(folder):
        content = (folder / path).read_bytes()
        (folder / path).write_bytes(content[: int(len(content) * keep)])

    return change


def of_version(path, version):
    """The file as a release would write it whose content has this version."""

    def change(folder):
        content = bytearray((folder / path).read_bytes())
        content[12:16] = struct.pack("<I", version)
        digest = hashlib.sha256(bytes(content[HEADER:]) + bytes(content[: HEADER - DIGEST])).digest()
        content[HEADER - DIGEST : HEADER] = digest
        (folder / path).write_bytes(content)

    return change


def kept(name="run", party="ab"):
    """The finished run of this name becomes the party's run."""

    def change(folder):
        for one in party:
            shutil.copytree(folder / one / f"kept_{name}", folder / one / "run")

    return change


def last_checkpoint(party):
    """The path of a kept run's newest checkpoint."""
    return f"{party}/run/checkpoints/step-{(ROWS + 7) // 8:012d}.ckpt"


# What is no party, but answers or calls like a broken one.


class Stranger:
    """A TCP server that accepts, sends `words`, and closes the connection after `stays` seconds."""

    def __init__(self, words, stays):
        self._words, self._stays = words, stays
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while not self._over:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                try:
                    if self._words:
                        connection.sendall(self._words)
                    time.sleep(self._stays)
                except OSError:
                    pass

    def close(self):
        self._over = True
        self._server.close()


class Caller:
    """A TCP client that sends `words` to a port, again and again."""

    def __init__(self, port, words):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._call, args=(port, words), daemon=True)
        self._thread.start()

    def _call(self, port, words):
        while not self._over.wait(0.1):
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                    connection.sendall(words)
                    connection.settimeout(0.5)
                    connection.recv(1000)
            except OSError:
                pass

    def close(self):
        self._over.set()


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def state_of(folder, party):
    """The state that the summary of a party's run says; None if there is no run."""
    summary = folder / party / "run" / "summary.json"
    return json.loads(summary.read_text())["state"] if summary.exists() else None
