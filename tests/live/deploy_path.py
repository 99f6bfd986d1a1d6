"""`journeyman deploy`, `upgrade` and `rollback` in an emulated account: from the files of a release to a stack, from one
release to the next, and back.

Called by `run`, which has started the account. The functions are texts: what they do is what other tests show. The
cluster is an entry of EKS without an API server, so that `install` and `doctor` are left out here.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import boto3

import release_files
from checks import FUNCTIONS, REPOSITORY, Checks

CLUSTER, STACK, ACCOUNT = "demo", "journeyman", "123456789012"
# The emulator has no access entries for a cluster that it does not know; the table must go at the end.
PARAMETERS = ["CreateAccessEntries=false", "TableDeletionProtection=false"]


class Command:
    """The command, as a person without a terminal has it."""

    def __init__(self, command, environment):
        self.command, self.environment = command, environment

    def deploy(self, *words):
        return self.run("deploy", *words)

    def run(self, name, *words):
        line = [self.command, name, CLUSTER, "--stack-only", *words]
        began = time.monotonic()
        done = subprocess.run(line, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr, f"# {name}: {time.monotonic() - began:.1f} s", sep="", flush=True)
        return done.returncode, done.stdout + done.stderr


def make_release(work, version, seed, ledger=None):
    return release_files.make(work / f"release-{version}", version, seed, ledger=ledger)


def words_of(parameters):
    return [word for parameter in parameters for word in ("--parameter", parameter)]


def stack():
    return boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]


def releases():
    deployed = release_files.deployed()
    return len(deployed), set(deployed)


def keys(bucket):
    return {o["Key"] for o in boto3.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])}


def check_first(checks, command, folder, bucket):
    for words in (("upgrade", "--release", str(folder)), ("rollback",)):
        code, said = command.run(*words, "--yes")
        checks.check(f"without a stack {words[0]} names deploy", code == 1 and "use `journeyman deploy`" in said, said)
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


def named(version):
    return {f"{version} (0123456789ab)"}


def check_bucket(checks, command, folder, bucket):
    code, said = command.deploy("--bucket", bucket, "--yes")
    checks.check("a bucket without a template says so", code == 2 and "template.yaml is missing" in said, said)
    boto3.client("s3").upload_file(str(folder / "template.yaml"), bucket, "journeyman/template.yaml")
    code, said = command.deploy("--bucket", bucket, "--yes")
    checks.check("a bucket with the files needs no directory", code == 0 and "is up to date" in said, said)


def check_upgrade(checks, command, folder):
    """From one release to the next, with an item in the ledger that nothing can read at first."""
    code, said = command.run("rollback", "--yes")
    checks.check("nothing to roll back to", code == 1 and "nothing to roll back to" in said, said)
    code, said = command.deploy("--release", str(folder), "--yes")
    checks.check("deploy leaves another release to upgrade", code == 1 and "use `journeyman upgrade`" in said, said)
    code, said = command.run("upgrade", "--release", str(folder), "--diff")
    held = code == 1 and "change " in said and releases()[1] == named("1.0.0")
    checks.check("--diff shows the changes, and the stack stays", held, said)
    left = boto3.client("cloudformation").list_change_sets(StackName=STACK)["Summaries"]
    left = [one for one in left if one["ExecutionStatus"] == "AVAILABLE"]
    checks.check("and no change set is left", not left, left)
    dynamodb, table = boto3.client("dynamodb"), {o["OutputKey"]: o["OutputValue"] for o in stack()["Outputs"]}["TableName"]
    item = json.loads((REPOSITORY / "tests/golden/405e221/items/claim-initialized.json").read_text(encoding="utf-8"))
    dynamodb.put_item(TableName=table, Item=item)
    broken = {**item, "item": {"S": "claim#broken"}, "record": {"S": '{"v":9}'}}
    dynamodb.put_item(TableName=table, Item=broken)
    code, said = command.run("upgrade", "--release", str(folder), "--yes")
    held = code == 1 and "claim#broken" in said and "version 9 is not supported" in said and releases()[1] == named("1.0.0")
    checks.check("an item that cannot be read is named, and the stack stays", held, said)
    dynamodb.delete_item(TableName=table, Key={name: broken[name] for name in ("cluster", "item")})
    code, said = command.run("upgrade", "--release", str(folder), "--yes")
    held = code == 0 and "can read: 1 of 1" in said and releases()[1] == named("1.1.0")
    checks.check("the next release updates the stack", held, said)


def check_back(checks, command):
    """Without any file of a release."""
    parameters = stack()["Parameters"]
    for title, version in (("1.1.0 (0123456789ab) → release 1.0.0", "1.0.0"), ("1.0.0 (0123456789ab) → release 1.1.0", "1.1.0")):
        code, said = command.run("rollback", "--yes")
        checks.check(f"rollback deploys {version}", code == 0 and title in said and releases()[1] == named(version), said)
    checks.check("parameters stay", stack()["Parameters"] == parameters, stack()["Parameters"])


def check_format(checks, command, folder):
    """A release whose ledger the installed one cannot read."""
    code, said = command.run("upgrade", "--release", str(folder), "--yes")
    held = code == 1 and "You cannot go back" in said and releases()[1] == named("1.1.0")
    checks.check("an upgrade without a way back is refused", held, said)
    code, said = command.run("upgrade", "--release", str(folder), "--yes", "--force")
    checks.check("unless it is forced", code == 0 and releases()[1] == named("2.0.0"), said)
    code, said = command.run("rollback", "--yes", "--force")
    held = code == 1 and "release 1.1.0 (0123456789ab) cannot read the ledger: it reads format 1" in said
    checks.check("a release that cannot read the ledger is refused", held and releases()[1] == named("2.0.0"), said)


def check_failure(checks, command, folder):
    """A template with a resource that cannot be made: the first failure is named, and the stack is as before."""
    file = folder / "template.yaml"
    text = file.read_text(encoding="utf-8")
    broken = "\nResources:\n  Broken:\n    Type: AWS::CloudFormation::WaitCondition\n    Properties: {Handle: none, Timeout: \"1\", Count: 1}\n"
    file.write_text(text.replace("\nResources:\n", broken), encoding="utf-8")
    code, said = command.run("upgrade", "--release", str(folder), "--yes")
    checks.check("a failed upgrade names its first failure", code == 2 and "First failure: Broken" in said, said)
    held = stack()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE" and releases()[1] == named("2.0.0")
    checks.check("the stack is as before", held, stack()["StackStatus"])
    code, said = command.run("rollback", "--yes")
    held = code == 1 and "release 2.0.0 (0123456789ab) → release 1.1.0" in said
    checks.check("rollback passes over what failed", held, said)
    file.write_text(text, encoding="utf-8")
    code, said = command.run("upgrade", "--release", str(folder), "--yes")
    checks.check("the mended release updates the stack", code == 0 and releases()[1] == named("2.1.0"), said)
    damaged = next(folder.glob("wake-x86_64-*.zip"))
    damaged.write_bytes(b"damaged")
    code, said = command.deploy("--release", str(folder), "--yes", "--bucket", "elsewhere")
    checks.check("a damaged zip is refused", code == 2 and "download the release again" in said, said)


def run(checks):
    work = Path(os.environ["LIVE_WORK"])
    command = Command(os.environ["LIVE_COMMAND"], {**os.environ, "HOME": str(work)})
    bucket = f"journeyman-{ACCOUNT}-{os.environ['AWS_REGION']}"
    first, second = make_release(work, "1.0.0", "a"), make_release(work, "1.1.0", "b")
    later = "writes 2, reads 1 to 2"
    third, fourth = make_release(work, "2.0.0", "c", later), make_release(work, "2.1.0", "d", later)
    if not check_first(checks, command, first, bucket):
        return
    check_again(checks, command, first)
    check_bucket(checks, command, first, bucket)
    check_upgrade(checks, command, second)
    check_back(checks, command)
    check_format(checks, command, third)
    check_failure(checks, command, fourth)


if __name__ == "__main__":
    sys.exit(Checks.of(run))
