"""`journeyman deploy` in an emulated account: from the files of a release to a stack, and from one release to the next.

Called by `run`, which has started the account. The functions are texts: what they do is what other tests show. The
cluster is an entry of EKS without an API server, so that `install` and `doctor` are left out here.
"""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import boto3

from checks import FUNCTIONS, REPOSITORY, Checks

loader = importlib.machinery.SourceFileLoader("release", str(REPOSITORY / "tools/release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)

CLUSTER, STACK, ACCOUNT = "demo", "journeyman", "123456789012"
# The emulator has no access entries for a cluster that it does not know; the table must go at the end.
PARAMETERS = ["CreateAccessEntries=false", "TableDeletionProtection=false"]


class Command:
    """The command, as a person without a terminal has it."""

    def __init__(self, command, environment):
        self.command, self.environment = command, environment

    def deploy(self, *words):
        line = [self.command, "deploy", CLUSTER, "--stack-only", *words]
        done = subprocess.run(line, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr, end="", flush=True)
        return done.returncode, done.stdout + done.stderr


def make_release(work, version, seed):
    """The files of a release whose functions are texts with `seed`, as the archive of a stack has them."""
    folder = work / f"release-{version}"
    folder.mkdir()
    zips = [
        release.write_function(folder, name, architecture, f"#!/bin/sh\nexit 1 # {name} {architecture} {seed}\n".encode(), 1_700_000_000)
        for name in FUNCTIONS
        for architecture in release.ARCHITECTURES
    ]
    text = (REPOSITORY / "template.yaml").read_text(encoding="utf-8")
    (folder / "template.yaml").write_text(release.packaged(text, zips, version, "0123456789abcdef"), encoding="utf-8")
    return folder


def words_of(parameters):
    return [word for parameter in parameters for word in ("--parameter", parameter)]


def stack():
    return boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]


def releases():
    functions = boto3.client("lambda").list_functions()["Functions"]
    return len(functions), {f["Environment"]["Variables"].get("JOURNEYMAN_RELEASE") for f in functions}


def keys(bucket):
    return {o["Key"] for o in boto3.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])}


def check_first(checks, command, folder, bucket):
    code, said = command.deploy("--release", str(folder), *words_of(PARAMETERS))
    checks.check("without a terminal nothing is created", code == 2 and "--yes" in said, said)
    code, said = command.deploy("--release", str(folder), "--yes", "--parameter", "Packed=cheapest")
    checks.check("an unknown parameter is refused, with those of the template", code == 2 and "Packing" in said, said)
    code, said = command.deploy("--release", str(folder), "--yes", *words_of(PARAMETERS))
    if not checks.check("deploy creates the stack", code == 0 and stack()["StackStatus"] == "CREATE_COMPLETE", said):
        return False
    checks.check("it shows what it creates", re.search(r"create +\d+ resources +AWS::Lambda::Function", said), said)
    checks.check("it prints the outputs", "TableName" in said and "ProvisionFunctionName" in said, said)
    count, named = releases()
    checks.check("nine functions are of the release", (count, named) == (len(FUNCTIONS) - 1, {"1.0.0 (0123456789ab)"}), (count, named))
    zips = {key for key in keys(bucket) if key.endswith(".zip")}
    expected = {f"journeyman/{path.name}" for path in folder.glob("*-x86_64-*.zip")}
    checks.check("the bucket has the zips of the architecture", zips == expected, zips ^ expected)
    return True


def check_again(checks, command, folder):
    code, said = command.deploy("--release", str(folder), "--yes")
    held = code == 0 and "is up to date" in said and "Uploaded 0 of 10 zips" in said
    checks.check("the same release again changes nothing, and keeps the parameters", held, said)
    code, said = command.deploy("--release", str(folder), "--yes", "--parameter", "PollIntervalSeconds=10")
    held = code == 0 and "change " in said and stack()["StackStatus"] == "UPDATE_COMPLETE"
    checks.check("a parameter updates the stack", held, said)
    parameters = {p["ParameterKey"]: p["ParameterValue"] for p in stack()["Parameters"]}
    checks.check("values stay", parameters["PollIntervalSeconds"] == "10" and parameters["CreateAccessEntries"] == "false", parameters)


def check_next(checks, command, folder, bucket):
    code, said = command.deploy("--release", str(folder), "--diff")
    held = code == 1 and "change " in said and releases()[1] == {"1.0.0 (0123456789ab)"}
    checks.check("--diff shows the changes, and the stack stays", held, said)
    left = boto3.client("cloudformation").list_change_sets(StackName=STACK)["Summaries"]
    left = [one for one in left if one["ExecutionStatus"] == "AVAILABLE"]
    checks.check("and no change set is left", not left, left)
    code, said = command.deploy("--release", str(folder), "--yes")
    checks.check("the next release updates the stack", code == 0 and releases()[1] == {"1.1.0 (0123456789ab)"}, said)
    code, said = command.deploy("--bucket", bucket, "--yes")
    checks.check("a bucket without a template says so", code == 2 and "template.yaml" in said, said)
    boto3.client("s3").upload_file(str(folder / "template.yaml"), bucket, "journeyman/template.yaml")
    code, said = command.deploy("--bucket", bucket, "--yes")
    checks.check("a bucket with the files needs no directory", code == 0 and "is up to date" in said, said)


def check_failure(checks, command, folder):
    """A template with a resource that cannot be made: the first failure is named, and the stack is as before."""
    file = folder / "template.yaml"
    text = file.read_text(encoding="utf-8")
    broken = "\nResources:\n  Broken:\n    Type: AWS::CloudFormation::WaitCondition\n    Properties: {Handle: none, Timeout: \"1\", Count: 1}\n"
    file.write_text(text.replace("\nResources:\n", broken), encoding="utf-8")
    code, said = command.deploy("--release", str(folder), "--yes")
    checks.check("a failed update names its first failure", code == 2 and "First failure: Broken" in said, said)
    checks.check("the stack is as before", stack()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE", stack()["StackStatus"])
    file.write_text(text, encoding="utf-8")
    damaged = next(folder.glob("wake-x86_64-*.zip"))
    damaged.write_bytes(b"damaged")
    code, said = command.deploy("--release", str(folder), "--yes", "--bucket", "elsewhere")
    checks.check("a damaged zip is refused", code == 2 and "download the release again" in said, said)


def run(checks):
    work = Path(os.environ["LIVE_WORK"])
    command = Command(os.environ["LIVE_COMMAND"], {**os.environ, "HOME": str(work)})
    bucket = f"journeyman-{ACCOUNT}-{os.environ['AWS_REGION']}"
    first, second = make_release(work, "1.0.0", "a"), make_release(work, "1.1.0", "b")
    if not check_first(checks, command, first, bucket):
        return
    check_again(checks, command, first)
    check_next(checks, command, second, bucket)
    check_failure(checks, command, second)


if __name__ == "__main__":
    sys.exit(Checks.of(run))
