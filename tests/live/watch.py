"""Every function, as built, answers its sample events under `cargo lambda watch`.

Called by `run`, which has started the emulator and the AWS server and put cargo-lambda and boto3 into the
path. The account holds an empty table, empty queues and no instance, and the cluster holds nothing,
so every sample speaks of a claim that is gone: the right answer is success, without a failed item and
without a crash.
"""

import copy
import sys

from checks import FUNCTIONS, REPOSITORY, Checks, event
from cluster_stub import ClusterStub
from lambda_server import is_success, served


def samples(function):
    """The function's own files in events/: its name, alone or followed by a dash."""
    return sorted(
        path.stem
        for path in (REPOSITORY / "events").glob("*.json")
        if path.stem == function or path.stem.startswith(f"{function}-")
    )


def check_function(checks, server, function):
    server.start_function(function)
    names = samples(function)
    checks.check(f"{function} has a sample event", names)
    for name in names:
        status, answer = server.invoke(function, event(name))
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
    # Who calls a URL gets an answer of HTTP.
    refused = answer.get("statusCode") == 400 if function == "wake" else answer.get("errorType")
    checks.check(f"{function} refuses what is no event of its own, with a type of error", refused, (status, answer))
    checks.check(f"{function} is still running", server.is_alive(function), server.log(function))


def run(checks):
    with served(checks, ClusterStub()) as (server, _):
        for function in FUNCTIONS if server else []:
            check_function(checks, server, function)


if __name__ == "__main__":
    sys.exit(Checks.of(run))
