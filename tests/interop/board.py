#!/usr/bin/env python3
"""Kills a board with an SD card at random instants, and looks after each what is on the card.

    board.py [--cards N] [--kills N] [--seed N] STRIAE ELF DIR

ELF is core/firmware's program `board`, STRIAE the program; DIR is for the cards. A card is made by mtools, with a FAT
partition and one without a file system. QEMU runs the board with it and is killed: after some lines that the board tells
on its UART, and some milliseconds more. What the board told to be safe must be on the card, as striae, gsd and mtools
read it; one more of each log may be. Then the board starts again with this card. The seed decides when QEMU is killed,
as far as the scheduler of this machine lets it. Runs under a Python that has gsd.

Two cards more: one is taken away while it is written, and put back; one is so small that all logs end.

One line for each disagreement, then `N passed, M failed`. Exit status 0 if nothing failed, else 1.
"""

import argparse
import pathlib
import random
import select
import socket
import struct
import subprocess
import sys
import time

import board_logs

SECTOR = 512
# First sector and number of sectors of the partitions; the card has a power of two, as QEMU wants.
FAT = (2048, 32768)
RAW = (2048 + 32768, 4096)
CARD = 32 << 20
# A small log, and what is left for files that grow.
SMALL = 128 << 10
LEFT = 26 << 10

QEMU = "qemu-system-arm -machine lm3s6965evb -display none -serial stdio".split()
# For a board that hangs.
PATIENCE = 100.0


def make_card(path, raw=RAW):
    """A card that has a FAT16 file system without files, and zeros."""
    table = b"".join(struct.pack("<B3xB3xII", 0, kind, *place) for kind, place in [(0x0E, FAT), (0xDA, raw)])
    with open(path, "wb") as file:
        file.truncate(CARD)
        file.seek(446)
        file.write(table)
        file.seek(510)
        file.write(b"\x55\xaa")
    image = f"{path}@@{FAT[0] * SECTOR}"
    shape = ["-T", str(FAT[1]), "-c", "2", "-h", "16", "-s", "63"]
    subprocess.run(["mformat", "-i", image, *shape, "::"], check=True)


def make_small_card(path):
    """A card with little room: for a log of SMALL bytes on each partition, and LEFT bytes for other files."""
    make_card(path, (RAW[0], SMALL // SECTOR))
    image = f"{path}@@{FAT[0] * SECTOR}"
    put = ["mcopy", "-i", image, "-"]
    subprocess.run([*put, f"::{board_logs.LOGS['fat']}"], input=bytes(SMALL), check=True)
    shown = subprocess.run(["mdir", "-b", "-i", image, "::"], capture_output=True, check=True)
    assert board_logs.LOGS["fat"] in shown.stdout.decode(), shown
    shown = subprocess.run(["mdir", "-i", image, "::"], capture_output=True, check=True).stdout.decode()
    free = int(shown.strip().splitlines()[-1].removesuffix("bytes free").replace(" ", ""))
    subprocess.run([*put, "::FILLER"], input=bytes(free - LEFT), check=True)


class Board:
    """A board that runs with a card."""

    def __init__(self, elf, card, monitor=None):
        self.card = card
        monitor = f"unix:{monitor},server,nowait" if monitor else "none"
        drive = f"if=sd,format=raw,file={card}"
        semihosting = "enable=on,target=native"
        self.process = subprocess.Popen(
            [*QEMU, "-monitor", monitor, "-semihosting-config", semihosting, "-drive", drive, "-kernel", elf],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.told = b""

    def read(self):
        """What it tells next; nothing if it has ended."""
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        if not ready:
            raise TimeoutError(f"the board tells nothing after {self.told[-200:]}")
        text = self.process.stdout.read1(4096)
        self.told += text
        return text

    def wait_for(self, lines):
        """Waits until it has told so many lines, or has ended."""
        while self.told.count(b"\n") < lines and self.read():
            pass

    def failures(self):
        """How many it has told, in whole lines: the newline of one is no sign that the board went on."""
        return self.told[: self.told.rfind(b"\n") + 1].count(b" fails: ")

    def wait_until(self, text):
        """Waits until it has told this, or has ended."""
        while text not in self.told and self.read():
            pass

    def kill(self):
        """Kills it, and returns the whole lines that it told."""
        self.process.kill()
        while self.read():
            pass
        self.process.wait()
        self.process.stdout.close()
        return self.told.decode().split("\n")[:-1]


class Told:
    """What boards have told to be safe: of each log, how many records."""

    def __init__(self):
        self.safe = dict.fromkeys(board_logs.LOGS, 0)

    def add(self, lines):
        """Yields what must not be told."""
        for line in lines:
            log, _, text = line.partition(" ")
            if log not in self.safe or not text.removeprefix("has ").isdecimal():
                yield f"the board tells: {line}"
            elif text.startswith("has "):
                number = int(text.removeprefix("has "))
                if number - self.safe[log] not in (0, 1):
                    yield f"{line}, of {self.safe[log]} that are safe"
                self.safe[log] = number
            elif int(text) != self.safe[log]:
                yield f"{line}, after {self.safe[log]}"
            else:
                self.safe[log] += 1


def read_card(card, folder):
    """The logs of a card, as files of their own."""
    paths = {log: folder / name for log, name in board_logs.LOGS.items()}
    with open(card, "rb") as file:
        file.seek(RAW[0] * SECTOR)
        paths["raw"].write_bytes(file.read(RAW[1] * SECTOR))
    for log, path in paths.items():
        if log != "raw":
            path.unlink(missing_ok=True)
            copy = ["mcopy", "-n", "-i", f"{card}@@{FAT[0] * SECTOR}", f"::{path.name}", str(path)]
            subprocess.run(copy, stderr=subprocess.DEVNULL, check=False)  # it may not be there yet
    return paths


def run_card(args, folder, chance):
    """Kills boards with one card. Yields after each what is wrong."""
    card, told = folder / "card.img", Told()
    make_card(card)
    for kill in range(args.kills):
        board = Board(args.elf, card)
        # The first kills are in the time in which the logs are begun.
        board.wait_for(chance.randrange(3) if kill < 2 else chance.randrange(2, 40))
        time.sleep(chance.uniform(0, 0.02))
        wrong = list(told.add(board.kill()))
        paths = read_card(card, folder)
        for log, path in paths.items():
            wrong += board_logs.wrong(args.striae, log, path, told.safe[log])
        yield f"kill {kill}: {told.safe}", wrong
    yield "all readers", board_logs.wrong_in_detail(args.striae, paths, told.safe)
    yield "a check that finds nothing", board_logs.wrong_control(args.striae, paths, told.safe)


class Monitor:
    """QEMU's monitor."""

    PROMPT = b"(qemu) "

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.settimeout(PATIENCE)
        self.read()

    def read(self):
        text = b""
        while not text.endswith(self.PROMPT):
            text += self.socket.recv(4096)
        return text.decode()

    def do(self, command):
        self.socket.sendall(command.encode() + b"\n")
        self.read()


def run_removed(args, folder, chance):
    """Takes a card away and puts it back, again and again. Yields after each what is wrong."""
    card, monitor, told = folder / "card.img", folder / "monitor", Told()
    monitor.unlink(missing_ok=True)
    make_card(card)
    board = Board(args.elf, card, monitor)
    board.wait_for(4)
    qemu = Monitor(monitor)
    for _ in range(args.kills):
        board.wait_for(board.told.count(b"\n") + chance.randrange(1, 10))
        time.sleep(chance.uniform(0, 0.02))
        failures = board.failures()
        qemu.do("eject -f sd0")
        while board.failures() == failures and board.read():
            pass
        qemu.do(f"change sd0 {card} raw")
    board.wait_for(board.told.count(b"\n") + 8)
    lines = board.kill()
    fails = [line for line in lines if " fails: " in line]
    wrong = list(told.add(line for line in lines if line not in fails))
    if len(fails) < args.kills:
        wrong.append(f"{len(fails)} failures, the card was away {args.kills} times")
    for log, path in read_card(card, folder).items():
        wrong += board_logs.wrong(args.striae, log, path, told.safe[log])
    yield f"{len(fails)} failures, such as {sorted(set(fails))[:8]}: {told.safe}", wrong


def run_full(args, folder):
    """Logs until all logs are full. Yields what is wrong."""
    card, told = folder / "card.img", Told()
    make_small_card(card)
    board = Board(args.elf, card)
    while board.read():
        pass  # it ends by itself
    lines = board.kill()
    ends = [f"{log} ends" for log in board_logs.LOGS]
    fails = [line for line in lines if " fails: " in line]
    wrong = list(told.add(line for line in lines if line not in [*ends, *fails]))
    wrong += [f"the board does not tell: {line}" for line in ends if line not in lines]
    paths = read_card(card, folder)
    for log, path in paths.items():
        wrong += board_logs.wrong(args.striae, log, path, told.safe[log])
        if not told.safe[log]:
            wrong.append(f"{log}: nothing was ever safe")
    yield f"full, {sorted(set(fails))}: {told.safe}", wrong


def runs(args):
    """All runs, each as what it was and what is wrong."""
    for card in range(args.cards):
        folder = args.dir / f"card-{card}"
        folder.mkdir(parents=True, exist_ok=True)
        for what, wrong in run_card(args, folder, random.Random(f"{args.seed}-{card}")):
            yield f"card {card}, {what}", wrong
    for what, wrong in run_removed(args, folder, random.Random(args.seed)):
        yield f"a card that is taken away, {what}", wrong
    for what, wrong in run_full(args, folder):
        yield f"a small card, {what}", wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=1)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("striae")
    parser.add_argument("elf")
    parser.add_argument("dir", type=pathlib.Path)
    args = parser.parse_args()
    passed = failed = 0
    for what, wrong in runs(args):
        print(what)
        for text in wrong[:5]:
            print(f"{what}: {text}")
        passed, failed = (passed, failed + 1) if wrong else (passed + 1, failed)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
