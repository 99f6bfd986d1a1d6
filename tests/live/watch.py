"""Every function, as built, answers its sample events under `cargo lambda watch`.

Called by `run`, which has started the emulator and put cargo-lambda and boto3 into the path. The
development server only plays Lambda (`--only-lambda-apis`): the binaries are those at
target/lambda, so that nothing is compiled a second time and what is tested is what is deployed. The
account holds an empty table and empty queues, and the cluster holds nothing, so every sample speaks
of a claim that is gone: the right answer is success, without a failed item and without a crash.
"""

import copy
import json
import os
import socket
import subprocess
import sys
import traceback
import urllib.error
import urllib.request
from pathlib import Path

import boto3

from checks import FUNCTIONS, REPOSITORY, Checks, event, missing_functions, wait_for
from cluster_stub import ClusterStub

CLUSTER = "demo"
ANSWER_SECONDS = 60
QUEUES = ["provision", "disrupt", "launch", "settle", "drain"]
# What the emulator does not serve, and the samples that end with exactly that. The conformance suites
# of `aws` ask the simulated account's own door for the rest.
NOT_SERVED = {
    "catalog-schedule": "DescribeInstanceTypeOfferings failed",
    "disrupt-consolidation": "DescribeCluster failed: it is not there",
    "disrupt-drift": "DescribeCluster failed: it is not there",
    "resolve-schedule": "DescribeCluster failed: it is not there",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def create_account():
    """The table and the queues, as far as functions can tell them from those of template.yaml;
    returns their settings."""
    table = boto3.client("dynamodb").create_table(
        TableName="journeyman-watch",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"}
            for name in ("cluster", "item", "instance_id")
        ],
        KeySchema=[
            {"AttributeName": "cluster", "KeyType": "HASH"},
            {"AttributeName": "item", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "instance",
                "KeySchema": [{"AttributeName": "instance_id", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    settings = {"JOURNEYMAN_TABLE_NAME": table["TableDescription"]["TableName"]}
    for queue in QUEUES:
        url = boto3.client("sqs").create_queue(QueueName=f"journeyman-watch-{queue}")["QueueUrl"]
        settings[f"JOURNEYMAN_{queue.upper()}_QUEUE_URL"] = url
    return settings


class Server:
    """`cargo lambda watch` and the functions that it feeds; ends them all when the test ends."""

    def __init__(self, settings):
        self.port = free_port()
        self.settings = settings
        self.processes = {}
        self.work = Path(os.environ["LIVE_WORK"])
        self.start(
            "server",
            [
                "cargo-lambda",
                "lambda",
                "watch",
                "--only-lambda-apis",
                "--invoke-address",
                "127.0.0.1",
                "--invoke-port",
                str(self.port),
            ],
            dict(os.environ),
        )

    def start(self, name, command, environment):
        with open(self.work / f"watch-{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def start_function(self, name):
        # Only what Lambda would give it: a function that needs anything else from this machine must
        # fail here.
        environment = {
            **self.settings,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            **{
                key: os.environ[key]
                for key in (
                    "AWS_ENDPOINT_URL",
                    "AWS_REGION",
                    "AWS_DEFAULT_REGION",
                    "AWS_ACCESS_KEY_ID",
                    "AWS_SECRET_ACCESS_KEY",
                    "AWS_EC2_METADATA_DISABLED",
                )
            },
            "AWS_LAMBDA_RUNTIME_API": f"http://127.0.0.1:{self.port}/.rt/{name}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        }
        self.start(name, [str(REPOSITORY / "target" / "lambda" / name / "bootstrap")], environment)

    def is_alive(self, name):
        return self.processes[name].poll() is None

    def log(self, name):
        return (self.work / f"watch-{name}.log").read_text(encoding="utf-8", errors="replace")[
            -3000:
        ]

    def invoke(self, name, payload):
        """Status and decoded answer; a timeout is an answer too, with status 0."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/2015-03-31/functions/{name}/invocations",
            json.dumps(payload).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
                status, body = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        except (TimeoutError, urllib.error.URLError) as error:
            return 0, str(error)
        try:
            return status, json.loads(body) if body else None
        except ValueError:
            return status, body.decode(errors="replace")

    def stop(self):
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def samples(function):
    """The function's own files in events/: its name, alone or followed by a dash."""
    return sorted(
        path.stem
        for path in (REPOSITORY / "events").glob("*.json")
        if path.stem == function or path.stem.startswith(f"{function}-")
    )


def is_success(status, answer):
    if status != 200 or (isinstance(answer, dict) and "errorType" in answer):
        return False
    return not (isinstance(answer, dict) and answer.get("batchItemFailures"))


def check_function(checks, server, function):
    server.start_function(function)
    names = samples(function)
    checks.check(f"{function} has a sample event", names)
    for name in names:
        status, answer = server.invoke(function, event(name))
        if name in NOT_SERVED:
            message = answer.get("errorMessage", "") if isinstance(answer, dict) else ""
            checks.check(
                f"{function} says what the emulator does not serve for {name}.json",
                message.startswith(NOT_SERVED[name]),
                (status, answer, server.log(function)),
            )
            continue
        checks.check(
            f"{function} answers {name}.json",
            is_success(status, answer),
            (status, answer, server.log(function)),
        )
    for name in names:
        records = event(name).get("Records", [])
        if records and records[0]["eventSource"] == "aws:sqs":
            malformed = copy.deepcopy(event(name))
            malformed["Records"][0]["body"] = "{"
            status, answer = server.invoke(function, malformed)
            failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
            checks.check(
                f"{function} reports a malformed message, and only that",
                status == 200 and failures == [{"itemIdentifier": records[0]["messageId"]}],
                (status, answer),
            )
            break
    status, answer = server.invoke(function, {"nonsense": True})
    checks.check(
        f"{function} refuses what is no event of its own, with a type of error",
        isinstance(answer, dict) and answer.get("errorType"),
        (status, answer),
    )
    checks.check(f"{function} is still running", server.is_alive(function), server.log(function))


def run(checks):
    missing = missing_functions(REPOSITORY / "target" / "lambda")
    if not checks.check(
        "all functions are built",
        not missing,
        f"no bootstrap for {', '.join(missing)}; run `cargo lambda build --release` first",
    ):
        return
    cluster = ClusterStub()
    server = None
    try:
        settings = {
            **create_account(),
            "JOURNEYMAN_CLUSTER_NAME": CLUSTER,
            "JOURNEYMAN_POLL_INTERVAL_SECONDS": "5",
            "JOURNEYMAN_LOG_LEVEL": "info",
            "JOURNEYMAN_CLUSTER_ENDPOINT": cluster.url,
        }
        server = Server(settings)
        if checks.check(
            "cargo lambda watch listens",
            wait_for(lambda: listens(server.port), 30),
            server.log("server"),
        ):
            for function in FUNCTIONS:
                check_function(checks, server, function)
    finally:
        if server:
            server.stop()
        cluster.stop()


def main():
    checks = Checks()
    try:
        run(checks)
    except Exception:  # Whatever happens is one failed check with its story.
        checks.check("the test ran to its end", False, traceback.format_exc())
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
