#!/usr/bin/env python3
"""Packs Karpenter's answers for `cargo test -p tests --test proof`. See README.md beside it.

    python3 tests/proof/pack.py CONFORMANCE JOURNEYMAN

CONFORMANCE is the folder with `compare`, JOURNEYMAN a binary that `compare` finds no fault with.
"""

import gzip
import importlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CATALOGS = ("reserved", "small", "us-west-2")
# Kinds whose answers are Karpenter's own; of the others the answers are ours that `compare` accepts.
COMPARED = ("scheduling", "disruption", "hashes")
ACCEPTED = ("render",)


def write(name, text):
    path = HERE / name
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{name}: {path.stat().st_size} bytes")


def accepted(binary, module, folder, scenario, expected):
    """Our answer, once the comparison finds nothing wrong with it."""
    line = [binary, *module.command(str(folder), scenario, None)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}
    faults = module.differences(str(folder), expected, answer)
    if faults:
        raise SystemExit(f"{folder}: {faults[0]}")
    # Karpenter's answers have neither, and the test looks at neither.
    for member in ("schemaVersion", "warnings"):
        answer.pop(member, None)
    return {"error": True} if "error" in answer else answer


def main():
    conformance, binary = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
    sys.path.insert(0, str(conformance))
    sys.dont_write_bytecode = True
    lines = []
    for kind in (*COMPARED, *ACCEPTED):
        for file in sorted((conformance / kind).glob("*/scenario.json")):
            folder = file.parent
            scenario = json.loads(file.read_text())
            expected = json.loads((folder / "expected.json").read_text())
            entry = {"name": f"{kind}/{folder.name}", "scenario": scenario}
            for other in sorted(folder.iterdir()):
                if other.name not in ("scenario.json", "expected.json"):
                    entry.setdefault("files", {})[other.name] = other.read_text()
            if kind in ACCEPTED:
                module = importlib.import_module("comparing." + kind)
                expected = accepted(binary, module, folder, scenario, expected)
            entry["expected"] = expected
            lines.append(json.dumps(entry, sort_keys=True, separators=(",", ":")))
    write("answers.jsonl.gz", "\n".join(lines) + "\n")
    (HERE / "ec2").mkdir(exist_ok=True)
    for file in sorted((conformance / "ec2").glob("*.json*")):
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        write("ec2/" + file.name.removesuffix(".gz") + ".gz", text.decode())
    for name in CATALOGS:
        write(f"{name}.json.gz", (conformance / "instance-types" / f"{name}.json").read_text())


main()
