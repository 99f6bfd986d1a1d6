"""What the live tests share: one printed line for each check, waiting with a limit, and the sample
events."""

import json
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FUNCTIONS = ["provision", "interrupt", "disrupt", "launch", "settle", "drain", "resolve", "sweep", "catalog", "wake"]


class Checks:
    """Counts checks; each prints `ok …` or `not ok …`."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, holds, detail=""):
        if holds:
            self.passed += 1
            print(f"ok {what}", flush=True)
        else:
            self.failed += 1
            print(f"not ok {what}" + (f": {detail}" if detail != "" else ""), flush=True)
        return bool(holds)

    @classmethod
    def of(cls, run):
        """Runs `run` with checks and returns the exit code."""
        checks = cls()
        try:
            run(checks)
        except Exception:  # Whatever happens is one failed check with its story.
            checks.check("the test ran to its end", False, traceback.format_exc())
        return checks.close()

    def close(self):
        """Prints the totals and returns the exit code. No check at all is a failure too."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.failed == 0 and self.passed > 0 else 1


def wait_for(ask, seconds):
    """Asks until the answer is truthy, and returns it; the last answer if that never happens within
    `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(0.2)


def event(name):
    return json.loads((REPOSITORY / "events" / f"{name}.json").read_text(encoding="utf-8"))


def missing_functions(directory):
    return [name for name in FUNCTIONS if not (directory / name / "bootstrap").is_file()]
