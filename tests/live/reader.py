"""A reader of a page of docs/: who types its commands as they are printed, in one shell, and answers what is asked."""

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import textwrap
import threading
import time
from pathlib import Path

from checks import REPOSITORY

FENCE = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ITEM_FENCE = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
# Reads names of files, runs each in this very shell, so that what it exports stays, and says how it ended.
SHELL = """set -eo pipefail
trap 'echo "$?" >&8' EXIT
while read -r block <&9; do
  . "$block" 8>&- 9<&-
  echo 0 >&8
done
trap - EXIT
"""
QUESTION = b"[y/N] "
# A build of everything is the longest.
PATIENCE_SECONDS = 3 * 3600


def every_block(page):
    """The commands of a page, a text for each of its blocks, those in lists too."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    return [textwrap.dedent(block) for block in ITEM_FENCE.findall(text)]


def commands(page, heading):
    """The commands of a section of a page, a text for each of its blocks. Without a heading, of what is before the first."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    rest = text
    if heading is not None:
        _, found, rest = text.partition(f"\n## {heading}\n")
        if not found:
            raise ValueError(f"docs/{page} has no section {heading}")
    blocks = FENCE.findall(rest.partition("\n## ")[0])
    if not blocks:
        raise ValueError(f"section {heading} of docs/{page} has no commands")
    return blocks


class Reader:
    """A shell that outlives its commands. Questions are answered with yes, as at a terminal."""

    def __init__(self, work, environment):
        self.work, self.count, self.answers = work, 0, 0
        self.said = b""
        terminal, keyboard = pty.openpty()
        self.terminal = terminal
        control, self.orders = os.pipe()
        self.endings, ended = os.pipe()
        # Out of the way of the numbers that the shell knows them by.
        control, ended = (self.moved(given) for given in (control, ended))
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", f"exec 9<&{control} 8>&{ended}\n{SHELL}"],
            cwd=REPOSITORY,
            env=environment,
            stdin=keyboard,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(control, ended),
            start_new_session=True,
        )
        for given in (keyboard, control, ended):
            os.close(given)
        self.ears = threading.Thread(target=self.listen, daemon=True)
        self.ears.start()

    @staticmethod
    def moved(given):
        number = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, 50)
        os.close(given)
        return number

    def listen(self):
        while chunk := os.read(self.shell.stdout.fileno(), 65536):
            self.said += chunk
            os.write(1, chunk)
            if self.said.endswith(QUESTION):
                self.answers += 1
                os.write(self.terminal, b"y\n")

    def type(self, block):
        """Whether every command of the block ended well. The shell is gone if one did not."""
        self.count += 1
        file = Path(self.work) / f"block-{self.count}.sh"
        file.write_text(block, encoding="utf-8")
        print("".join(f"$ {line}\n" for line in block.splitlines()), end="", flush=True)
        os.write(self.orders, f"{file}\n".encode())
        ready, _, _ = select.select([self.endings], [], [], PATIENCE_SECONDS)
        is_well = bool(ready) and os.read(self.endings, 16).strip() == b"0"
        if not is_well:
            # What it said last says why.
            self.ears.join(3)
        return is_well

    def type_and_watch(self, command, until, seconds):
        """Types a command that goes on until it is interrupted, and interrupts it when `until` holds."""
        print(f"$ {command}", flush=True)
        environment = self.environment()
        watching = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        shown = []
        reading = threading.Thread(target=lambda: shown.extend(self.lines(watching)), daemon=True)
        reading.start()
        deadline = time.monotonic() + seconds
        held = until()
        while not held and time.monotonic() < deadline and watching.poll() is None:
            time.sleep(0.5)
            held = until()
        watching.send_signal(signal.SIGINT)
        watching.wait(10)
        reading.join(5)
        return held, "".join(shown)

    @staticmethod
    def lines(process):
        for line in process.stdout:
            text = line.decode(errors="replace")
            print(text, end="", flush=True)
            yield text

    def environment(self):
        """What the shell has exported so far."""
        file = Path(self.work) / "environment"
        if not self.type(f"env -0 >{file}\n"):
            raise RuntimeError("the shell is gone")
        pairs = (pair.split("=", 1) for pair in file.read_text(encoding="utf-8").split("\0") if pair)
        return dict(pairs)

    def leave(self):
        os.close(self.orders)
        try:
            self.shell.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.shell.pid, signal.SIGKILL)
