"""The directory of an unpacked release, made by tools/release of what is built or of texts."""

import functools
import hashlib
import importlib.machinery
import importlib.util
import re

import boto3

from checks import FUNCTIONS, REPOSITORY

SECONDS = 1_700_000_000
COMMIT = "0123456789abcdef"

_loader = importlib.machinery.SourceFileLoader("release", str(REPOSITORY / "tools/release"))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", _loader))
_loader.exec_module(tool)
# Releases here have many functions in common.
tool.zipped = functools.cache(tool.zipped)


def text_of(name, architecture, seed):
    """A program that does nothing."""
    return f"#!/bin/sh\nexit 1 # {name} {architecture} {seed}\n".encode()


def built(name, architecture, seed):
    """The function that is built, in place of the one for x86_64: the emulated account runs it whatever it is for."""
    if architecture != "x86_64":
        return text_of(name, architecture, seed)
    return (REPOSITORY / "target/lambda" / name / "bootstrap").read_bytes()


def make(folder, version, seed, program=text_of, ledger=None):
    """Fills `folder` with the release `version`. `ledger` is another format of the ledger than that of this release."""
    folder.mkdir()
    zips = [
        tool.write_function(folder, name, architecture, program(name, architecture, seed), SECONDS)
        for name in FUNCTIONS
        for architecture in tool.ARCHITECTURES
    ]
    text = (REPOSITORY / "template.yaml").read_text(encoding="utf-8")
    if ledger:
        text = re.sub(r"LedgerFormat: .*", f"LedgerFormat: {ledger}", text)
    tool.fill_stack(REPOSITORY, folder, text, zips, version, COMMIT)
    return folder


def deployed():
    """The releases that the account's functions name, one for each function, such as `1.0.0 (0123456789ab)`."""
    functions = boto3.client("lambda").list_functions()["Functions"]
    return [f["Environment"]["Variables"].get("JOURNEYMAN_RELEASE", "") for f in functions]


def versions():
    """Of these releases only the versions, each once."""
    return {release.partition(" ")[0] for release in deployed()}


def digest(template):
    """The checksum in the template's key in the bucket, as `journeyman deploy` has it."""
    return hashlib.sha256(template.read_text(encoding="utf-8").rstrip().encode()).hexdigest()
