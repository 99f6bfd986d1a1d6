"""Functions as built, fed by the development server of cargo-lambda.

The server only plays Lambda (`--only-lambda-apis`): the binaries are those at target/lambda, so that
nothing is compiled a second time and what is tested is what is deployed.
"""

import contextlib
import json
import os
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import boto3

from checks import REPOSITORY, missing_functions, wait_for

CLUSTER = "demo"
ANSWER_SECONDS = 60
QUEUES = ["provision", "disrupt", "launch", "settle", "drain"]
# What Lambda sets as well, beside the endpoints of the account.
GIVEN = {
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_EC2_METADATA_DISABLED",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def create_account(cluster):
    """The table and the queues, as far as functions can tell them from those of template.yaml;
    returns the settings of functions that serve `cluster` with them."""
    table = boto3.client("dynamodb").create_table(
        TableName="journeyman-live",
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
                "IndexName": "claims_of_instances",
                "KeySchema": [{"AttributeName": "instance_id", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    settings = {
        "JOURNEYMAN_TABLE_NAME": table["TableDescription"]["TableName"],
        "JOURNEYMAN_CLUSTER_NAME": CLUSTER,
        "JOURNEYMAN_POLL_INTERVAL_SECONDS": "3",
        "JOURNEYMAN_LOG_LEVEL": "info",
        "JOURNEYMAN_WAKE_KEY": "0123456789abcdef0123456789abcdef",
        "JOURNEYMAN_CLUSTER_ENDPOINT": cluster.url,
    }
    for queue in QUEUES:
        url = boto3.client("sqs").create_queue(QueueName=f"journeyman-live-{queue}")["QueueUrl"]
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
        with open(self.work / f"function-{name}.log", "wb") as log:
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
                for key in os.environ
                if key in GIVEN or key.startswith("AWS_ENDPOINT_URL")
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
        return (self.work / f"function-{name}.log").read_text(encoding="utf-8", errors="replace")[
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


def is_success(status, answer):
    if status != 200 or (isinstance(answer, dict) and "errorType" in answer):
        return False
    return not (isinstance(answer, dict) and answer.get("batchItemFailures"))


@contextlib.contextmanager
def served(checks, cluster):
    """A server for functions that find an empty table, empty queues and `cluster`, or nothing if they
    cannot be served; with the settings of the functions."""
    missing = missing_functions(REPOSITORY / "target" / "lambda")
    server = None
    try:
        settings = create_account(cluster)
        if checks.check(
            "all functions are built",
            not missing,
            f"no bootstrap for {', '.join(missing)}; build them as README.md says",
        ):
            server = Server(settings)
            if not checks.check(
                "cargo lambda watch listens",
                wait_for(lambda: listens(server.port), 30),
                server.log("server"),
            ):
                server.stop()
                server = None
        yield server, settings
    finally:
        if server:
            server.stop()
        cluster.stop()
