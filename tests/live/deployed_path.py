"""One path through the deployed stack: an EC2 event does its work in an emulated account.

Called by `run`, which has started the emulator and put sam and boto3 into the path. It deploys the
real template with the functions built at target/lambda, plays EC2 by one spot interruption warning,
and watches the table and the queues. Two triggers are switched off meanwhile, so that the messages
which they would swallow can be seen.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import boto3

from checks import REPOSITORY, Checks, event, missing_functions, wait_for
from cluster_stub import ClusterStub

STACK = "journeyman-live"
CLUSTER = "demo"
CLAIM = "default-1-0"
NODE = "ip-10-0-1-17.ec2.internal"
# The first call of a function starts it, on a machine that may be busy.
PATIENCE_SECONDS = 60


def sam(*arguments, template):
    command = ["sam", *arguments, "--stack-name", STACK, "--region", os.environ["AWS_REGION"]]
    done = subprocess.run(command, cwd=template.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stdout[-6000:]}{done.stderr[-6000:]}", file=sys.stderr)
    return done.returncode == 0


def launch_instance(ec2):
    """An instance as launch would have made it; drain may terminate it only with these tags."""
    tags = {
        "eks:eks-cluster-name": CLUSTER,
        f"kubernetes.io/cluster/{CLUSTER}": "owned",
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/nodeclaim": CLAIM,
    }
    answer = ec2.run_instances(
        ImageId=ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"],
        InstanceType="m7g.large",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}
        ],
    )
    return answer["Instances"][0]["InstanceId"]


def cluster_with_a_guarded_pod(instance):
    """A cluster in which the instance's node runs one pod that no eviction gets rid of: the drain
    has to come back."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "uid": "5a0c3d0e-0000-4000-8000-000000000001",
            "resourceVersion": "1",
            "creationTimestamp": "2026-11-21T12:00:40Z",
            "labels": {
                "karpenter.sh/nodepool": "default",
                "karpenter.sh/registered": "true",
                "karpenter.sh/initialized": "true",
                "kubernetes.io/hostname": NODE,
            },
        },
        "spec": {"providerID": f"aws:///us-east-1a/{instance}"},
        "status": {
            "capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"},
            "allocatable": {"cpu": "1930m", "memory": "7Gi", "pods": "29"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastHeartbeatTime": "2026-11-21T12:01:00Z",
                    "lastTransitionTime": "2026-11-21T12:01:00Z",
                }
            ],
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-0",
            "namespace": "default",
            "uid": "5a0c3d0e-0000-4000-8000-000000000002",
            "resourceVersion": "2",
            "creationTimestamp": "2026-11-21T12:01:10Z",
            "labels": {"app": "web"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web",
                    "controller": True,
                    "uid": "5a0c3d0e-0000-4000-8000-000000000003",
                }
            ],
        },
        "spec": {
            "nodeName": NODE,
            "containers": [
                {"name": "web", "image": "web", "resources": {"requests": {"cpu": "1"}}}
            ],
        },
        "status": {"phase": "Running"},
    }
    return ClusterStub({"/api/v1/nodes": [node], "/api/v1/namespaces/default/pods": [pod]})


class Stack:
    """The deployed stack: its outputs, and the few things that the test asks and does there."""

    def __init__(self):
        formation = boto3.client("cloudformation")
        self.outputs = {
            o["OutputKey"]: o["OutputValue"]
            for o in formation.describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
        }
        self.dynamodb, self.sqs = boto3.client("dynamodb"), boto3.client("sqs")
        self.events, self.functions = boto3.client("events"), boto3.client("lambda")

    def claim(self):
        return self.dynamodb.get_item(
            TableName=self.outputs["TableName"],
            ConsistentRead=True,
            Key={"cluster": {"S": CLUSTER}, "item": {"S": f"claim#{CLAIM}"}},
        ).get("Item", {})

    def messages(self, queue):
        """The bodies that can be seen now. They stay in the queue, and come back after its
        visibility time-out."""
        answer = self.sqs.receive_message(
            QueueUrl=self.outputs[f"{queue}Url"], MaxNumberOfMessages=10, WaitTimeSeconds=1
        )
        return [m["Body"] for m in answer.get("Messages", [])]

    def pulse(self, queue, signal):
        """A message that has this signal: `beat` or `wake`."""
        for body in self.messages(queue):
            message = json.loads(body)
            if signal in message.get("message", {}):
                return message
        return None

    def depth(self, queue):
        attributes = self.sqs.get_queue_attributes(
            QueueUrl=self.outputs[f"{queue}Url"], AttributeNames=["All"]
        )["Attributes"]
        return sum(
            int(attributes[f"ApproximateNumberOfMessages{which}"])
            for which in ("", "NotVisible", "Delayed")
        )

    def triggers(self, function):
        return self.functions.list_event_source_mappings(
            FunctionName=self.outputs[f"{function}FunctionName"]
        )["EventSourceMappings"]

    def switch_off_queue(self, function):
        for trigger in self.triggers(function):
            if ":sqs:" in trigger["EventSourceArn"]:
                self.functions.update_event_source_mapping(UUID=trigger["UUID"], Enabled=False)
                wait_for(
                    lambda: self.functions.get_event_source_mapping(UUID=trigger["UUID"])["State"]
                    == "Disabled",
                    10,
                )

    def reach_cluster_at(self, url):
        """The template takes no address without TLS, which the stub has none of: the variable is set
        beside it."""
        for function in ("Provision", "Disrupt", "Launch", "Settle", "Drain", "Resolve", "Sweep"):
            name = self.outputs[f"{function}FunctionName"]
            found = self.functions.get_function_configuration(FunctionName=name)
            variables = {**found["Environment"]["Variables"], "JOURNEYMAN_CLUSTER_ENDPOINT": url}
            self.functions.update_function_configuration(
                FunctionName=name, Environment={"Variables": variables}
            )

    def switch_off_schedules(self):
        for rule in self.events.list_rules()["Rules"]:
            if rule.get("ScheduleExpression"):
                self.events.disable_rule(Name=rule["Name"])


def check_triggers(checks, stack):
    """The triggers as deployed; whether they work is what the rest of the test shows."""
    for function, queues in [
        ("Provision", 1),
        ("Interrupt", 1),
        ("Disrupt", 1),
        ("Launch", 1),
        ("Settle", 1),
        ("Drain", 1),
        ("Resolve", 0),
        ("Sweep", 0),
        ("Catalog", 0),
    ]:
        found = stack.triggers(function)
        kinds = sorted(t["EventSourceArn"].split(":")[2] for t in found)
        partial = all(t.get("FunctionResponseTypes") == ["ReportBatchItemFailures"] for t in found)
        checks.check(
            f"{function} is woken by its queue, if it has one, and may report partial failures",
            kinds == ["sqs"] * queues and partial,
            found,
        )
    rules = {r["Name"]: r for r in stack.events.list_rules()["Rules"]}
    scheduled = [r for r in rules.values() if r.get("ScheduleExpression") == "rate(1 minute)"]
    inputs = [
        t.get("Input", "")
        for r in scheduled
        for t in stack.events.list_targets_by_rule(Rule=r["Name"])["Targets"]
    ]
    checks.check(
        "seven schedules of one minute, none of which says anything", inputs == [""] * 7, inputs
    )


def check_interruption(checks, stack, cluster, instance):
    # A claim as the release of commit 405e221 stored it, in a ledger that was opened since.
    image = REPOSITORY / "tests/golden/405e221/events/drain-stream.json"
    image = json.loads(image.read_text(encoding="utf-8"))["Records"][0]["dynamodb"]["OldImage"]
    sample = image["instance_id"]["S"]
    # The record repeats the instance's id, so replace it in the text.
    claim = json.loads(json.dumps(image).replace(sample, instance))
    head = {
        "cluster": {"S": CLUSTER},
        "item": {"S": "head"},
        "generation": {"N": "4"},
        "commit_id": {"S": "message-1/0"},
        "ledger_id": {"S": "live1"},
        "guard": {"S": "free"},
        "checked_at": {"S": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")},
    }
    for item in (head, claim):
        stack.dynamodb.put_item(TableName=stack.outputs["TableName"], Item=item)
    warning = json.loads(event("interrupt-spot")["Records"][0]["body"].replace(sample, instance))
    sent = stack.events.put_events(
        Entries=[
            {
                "Source": warning["source"],
                "DetailType": warning["detail-type"],
                "Resources": warning["resources"],
                "Detail": json.dumps(warning["detail"]),
            }
        ]
    )
    checks.check(
        "EventBridge takes the spot interruption warning", sent["FailedEntryCount"] == 0, sent
    )

    phase = wait_for(
        lambda: (p := stack.claim().get("phase", {}).get("S")) == "deleting" and p, PATIENCE_SECONDS
    )
    found = stack.claim()
    checks.check("the claim is marked for deletion in the table", phase, found)
    checks.check(
        "the claim's version went up",
        int(found.get("version", {}).get("N", 0)) > int(claim["version"]["N"]),
        found.get("version"),
    )
    wake = wait_for(lambda: stack.pulse("ProvisionQueue", "wake"), PATIENCE_SECONDS)
    checks.check(
        "provision is woken, by its queue, to look for a replacement",
        wake and wake["cluster"] == CLUSTER and wake["message"]["wake"]["departures"] == 1,
        wake,
    )
    pods = wait_for(
        lambda: any("/eviction" in r for r in cluster.requests), PATIENCE_SECONDS
    )
    stack.switch_off_queue("Drain")
    beat = wait_for(lambda: stack.pulse("DrainQueue", "beat"), PATIENCE_SECONDS)
    checks.check(
        "the wake reaches drain, which sends itself the next beat",
        pods and beat and beat["message"]["function"] == "drain",
        (beat, cluster.requests[-20:]),
    )
    checks.check(
        "drain asked for the eviction of the node's pod",
        any("/eviction" in r for r in cluster.requests),
        cluster.requests[-20:],
    )


def check_malformed(checks, stack):
    body = '{"detail-type": "EC2 Spot Instance Interruption Warning", "detail": '
    stack.sqs.send_message(QueueUrl=stack.outputs["InterruptionQueueUrl"], MessageBody=body)
    dead = wait_for(lambda: stack.messages("InterruptionDeadLetterQueue"), PATIENCE_SECONDS)
    checks.check(
        "a malformed event ends in the dead-letter queue, as it came", dead == [body], dead
    )
    checks.check(
        "the interruption queue is empty again",
        wait_for(lambda: stack.depth("InterruptionQueue") == 0, 10),
    )
    others = [
        name[: -len("Url")]
        for name in sorted(stack.outputs)
        if name.endswith("DeadLetterQueueUrl") and "Interruption" not in name
    ]
    full = {name: stack.depth(name) for name in others if stack.depth(name) > 0}
    checks.check(f"the other {len(others)} dead-letter queues are empty", not full, full)


def check_removal(checks, stack, template):
    checks.check("sam delete removes the stack", sam("delete", "--no-prompts", template=template))
    left = [f["FunctionName"] for f in stack.functions.list_functions()["Functions"]]
    checks.check("no function is left", not left, left)
    table = stack.outputs["TableName"]
    kept = table in stack.dynamodb.list_tables()["TableNames"]
    checks.check("the table outlives the stack", kept)
    if kept:
        stack.dynamodb.delete_table(TableName=table)


def run(checks, template):
    directory = template.parent / "target" / "lambda"
    missing = missing_functions(directory)
    built = checks.check(
        "all functions are built",
        not missing,
        f"no bootstrap for {', '.join(missing)}; build them as README.md says",
    )
    if not built:
        return
    instance = launch_instance(boto3.client("ec2"))
    cluster = cluster_with_a_guarded_pod(instance)
    deployed = False
    try:
        parameters = {
            "ClusterName": CLUSTER,
            # The emulator has no access entries, and there is no EKS cluster that could admit a role.
            "CreateAccessEntries": "false",
            "TableDeletionProtection": "false",
            # So that a malformed event is a dead letter within seconds.
            "MaxReceiveCount": "3",
            "InterruptionVisibilitySeconds": "2",
        }
        deployed = checks.check(
            "sam deploy creates the stack",
            sam(
                "deploy",
                "--template-file",
                template.name,
                "--resolve-s3",
                "--capabilities",
                "CAPABILITY_IAM",
                "--no-confirm-changeset",
                "--no-fail-on-empty-changeset",
                "--parameter-overrides",
                *(f"{k}={v}" for k, v in parameters.items()),
                template=template,
            ),
        )
        if not deployed:
            return
        stack = Stack()
        check_triggers(checks, stack)
        stack.switch_off_schedules()
        stack.switch_off_queue("Provision")
        stack.reach_cluster_at(cluster.url)
        check_interruption(checks, stack, cluster, instance)
        check_malformed(checks, stack)
        check_removal(checks, stack, template)
    finally:
        cluster.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--template",
        type=Path,
        default=REPOSITORY / "template.yaml",
        help="template to deploy; the functions are taken from target/lambda beside it",
    )
    template = parser.parse_args().template.resolve()
    return Checks.of(lambda checks: run(checks, template))


if __name__ == "__main__":
    sys.exit(main())
