"""The commands that docs/install.md prints to build everything, beside those by which this repository itself builds it.

Where `install` takes what is built already, the test does not run the printed commands. Then they equal commands that are known to work:
the one for the functions is what `.ci/run functions` runs, the one for the command is what the other pages print, in the
profile of every test and with the feature that everything live is tested with. By itself it says where they differ:

    python3 tests/live/build_commands.py
"""

import re
import sys

from checks import FUNCTIONS, REPOSITORY
from reader import commands

# How the tier `functions` comes by its command, and what it adds to it.
READS = re.compile(r"read -ra build < <\(grep '([^']+)' ([^)]+)\)")
RUNS = re.compile(r'^ *"\$\{build\[@\]\}"(.*?) \|\| exit$', re.MULTILINE)
# It leaves out a question about the toolchain, and changes nothing of what is built.
ADDED = ["--skip-target-check"]
BUILDS = re.compile(r"^ *(cargo build -p cli --features \S+)", re.MULTILINE)
PAGES = ("README.md", "docs/local.md")


def text(path):
    return (REPOSITORY / path).read_text(encoding="utf-8")


def printed():
    """What section 2 prints: the command's build, what puts it into PATH, and the functions' build."""
    blocks = commands("install.md", "2. Build")
    lines = "".join(blocks).strip().splitlines()
    if len(lines) != 2 or lines[0].count(" && ") != 1:
        raise ValueError(f"section 2 of docs/install.md has other commands than two builds: {lines}")
    command, _, path = lines[0].partition(" && ")
    return command, path, lines[1]


def played_by_ci():
    """The command of the tier `functions` of .ci/run, and what it adds to it."""
    script = text(".ci/run")
    read, run = READS.search(script), RUNS.search(script)
    if not read or not run:
        raise ValueError(".ci/run does not take its build of the functions from a page any more")
    pattern, page = re.compile(read[1]), read[2]
    first = next((line for line in text(page).splitlines() if pattern.search(line)), None)
    if first is None:
        raise ValueError(f"{page} has no line like {read[1]}")
    return first, run[1].split()


def of_functions(build):
    """What is wrong with the printed build of the functions."""
    tested, added = played_by_ci()
    if build.split() != tested.split():
        yield f"docs/install.md prints `{build}`, and .ci/run plays `{tested}`"
    if added != ADDED:
        yield f".ci/run adds {added} to the command that it plays, and not {ADDED}"
    named = re.findall(r"-p (\S+)", build)
    if sorted(named) != sorted(FUNCTIONS):
        yield f"docs/install.md builds {sorted(named)}, and there are {sorted(FUNCTIONS)}"


def of_command(build, path):
    """What is wrong with the printed build of the command, and with how it gets into PATH."""
    for page in PAGES:
        others = set(BUILDS.findall(text(page))) - {build}
        if others or build not in text(page):
            yield f"docs/install.md prints `{build}`, and {page} {sorted(others)}"
    words = re.fullmatch(r"cargo build -p cli --features (\S+)", build)
    if not words:
        yield f"docs/install.md prints `{build}`, which is no build of the command with a feature"
        return
    feature = words[1]
    if f"--features cli/{feature})" not in text("tests/live/selection.sh"):
        yield f"what is tested live has not the feature {feature}"
    if path != 'export PATH="$PWD/target/debug:$PATH"':
        yield f"`{path}` does not find what `{build}` builds"


def differences():
    """Where the printed commands are not those that are known to work."""
    command, path, functions = printed()
    return [*of_functions(functions), *of_command(command, path)]


if __name__ == "__main__":
    found = differences()
    print("\n".join(found or ["the printed commands are those that are played"]))
    sys.exit(1 if found else 0)
