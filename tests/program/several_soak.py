#!/usr/bin/env python3
"""One training of three parties that is cut and killed again and again, and ends as if nothing had been.

usage: several_soak.py BUILD_FOLDER [--cuts N] [--kills N] [--seed N]

Cuts: both links go through this program, which cuts one of them, or both, at random moments while all train: 1000 times,
unless it is told otherwise. Kills: in another training of the same, a party at a time, or two, are killed at random
moments, and all resume: 30 times. Minutes; not part of CI. Exit code 1 if a metric differs by more than 1e-3.
"""

import argparse
import random
import socket
import sys
import threading
import time
from pathlib import Path

import program
from program import wait_until
from several_test import AS, LR, NAMES, Trio

TOLERANCE = 1e-3


class Line:
    """What a dialled port carries to a listener's, until it is cut."""

    def __init__(self, port):
        self.to = port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.lock, self.sockets, self.cuts = threading.Lock(), [], 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                near.close()
                continue
            with self.lock:
                self.sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    @staticmethod
    def carry(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Whether there was something to cut."""
        with self.lock:
            sockets, self.sockets = self.sockets, []
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.cuts += bool(sockets)
        return bool(sockets)

    def close(self):
        self.server.close()
        self.cut()


def shared(epochs):
    return {**LR, "training": {**LR["training"], "epochs": epochs}}


def compare(trio, expected, what):
    results = trio.results()
    worst = max(abs(results[name] - value) for name, value in expected.items())
    print(f"{what}: largest difference of a metric {worst:.2g}", flush=True)
    if results.keys() != expected.keys() or worst > TOLERANCE:
        sys.exit(f"{what}: {results}, and undisturbed {expected}")


def undisturbed(epochs):
    trio = Trio(shared(epochs))
    begin = time.monotonic()
    trio.all("train")
    results, seconds = trio.results(), time.monotonic() - begin
    trio.remove()
    return results, seconds


def soak_cuts(cuts, chance, epochs):
    expected, seconds = undisturbed(epochs)
    print(f"undisturbed: {seconds:.1f} s", flush=True)
    trio = Trio(shared(epochs))
    lines = {name: Line(trio.ports[name]) for name in AS}
    for name, line in lines.items():
        job = trio.folder / name / "job.yaml"
        job.write_text(job.read_text().replace(f"127.0.0.1:{trio.ports[name]}", f"127.0.0.1:{line.port}"))
    parties = trio.start("train")
    wait_until(lambda: trio.newest("b") >= 0)  # training has begun
    running = lambda: any(party.is_running() for party in parties.values())
    made = 0
    while running() and made < cuts:
        time.sleep(chance.expovariate(1 / 0.05))
        for name in chance.choice([AS[:1], AS[1:], AS]):
            made += lines[name].cut()
    step = trio.newest("b")
    codes = {name: party.end(1200) for name, party in parties.items()}
    if set(codes.values()) != {0}:
        sys.exit("\n".join(f"{name}: {p.printed()[-2000:]}{p.complaint()}" for name, p in parties.items()))
    if made < cuts:
        sys.exit(f"training was over after {made} cuts; more epochs are needed for {cuts}")
    for line in lines.values():
        line.close()
    counts = ", ".join(f"{line.cuts} of {name}'s link" for name, line in lines.items())
    compare(trio, expected, f"{made} cuts, {counts}, the last near step {step}")
    trio.remove()


def soak_kills(kills, chance, epochs):
    expected, seconds = undisturbed(epochs)
    private = {name: {"link": {"patience": 3}} for name in NAMES}
    trio = Trio(shared(epochs), private=private)
    command, killed = "train", 0
    while killed < kills:
        parties = trio.start(command)
        before = trio.newest("b")
        # Within the start, within training, or right after a checkpoint.
        if chance.random() < 0.3:
            time.sleep(chance.uniform(0, 2))
        else:
            wait_until(lambda: trio.newest("b") > before or not all(p.is_running() for p in parties.values()), 30)
            time.sleep(chance.uniform(0, 0.3))
        whom = chance.choice([NAMES[:1], NAMES[1:2], NAMES[2:], AS, NAMES])
        alive = [name for name in whom if parties[name].is_running()]
        for name in alive:
            parties[name].kill()
        killed += len(alive)
        for name, party in parties.items():
            party.end(120)
        command = "resume" if (trio.b / "run").exists() or any((trio.folder / n / "run").exists() for n in AS) else "train"
        print(f"killed {' and '.join(alive) or 'nobody'} near step {trio.newest('b')}; {killed} so far", flush=True)
    trio.all("resume" if command == "resume" else "train")
    compare(trio, expected, f"{killed} kills")
    trio.remove()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=40, help="of the training that is cut; that which is killed has twice as many")
    parser.add_argument("--seed", type=int, default=1)
    said = parser.parse_args()
    program.BUILD = said.build.resolve()
    chance = random.Random(said.seed)
    if said.cuts:
        soak_cuts(said.cuts, chance, said.epochs)
    if said.kills:
        soak_kills(said.kills, chance, 2 * said.epochs)


if __name__ == "__main__":
    main()
