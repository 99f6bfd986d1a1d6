"""The whole way of a node, by the functions as built, in the simulated account behind `aws-server`.

Called by `run`, which has started the emulator (table and queues) and the AWS server (EC2, IAM, SSM,
Pricing, EKS). A stub is the Kubernetes cluster; here the test plays the scheduler, the kubelet and
Lambda's triggers: it hands each function the beats and wakes that lie in its queue.
"""

import gzip
import hashlib
import hmac
import json
import os
import sys
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

import boto3

from checks import Checks, event, wait_for
from cluster_stub import ClusterStub
from lambda_server import CLUSTER, is_success, served

PODS = 3
PATIENCE_SECONDS = 60
MEMORY_MIB_MAX, REFRESH_SECONDS_MAX, STORED_BYTES_MAX = 256, 60, 1_000_000
CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
NODES = "/api/v1/nodes"
PODS_OF_DEFAULT = "/api/v1/namespaces/default/pods"
FUNCTIONS = ["catalog", "resolve", "provision", "launch", "settle", "interrupt", "drain", "sweep", "wake"]
WARM_MILLISECONDS_MAX = 20


def metadata(name, number, **more):
    uid = f"5a0c3d0e-0000-4000-8000-{number:012}"
    created = "2026-11-21T12:00:00Z"
    return {
        "name": name,
        "uid": uid,
        "resourceVersion": "1",
        "creationTimestamp": created,
        "generation": 1,
        **more,
    }


def objects():
    """A class, a pool of spot nodes with four processors, and pods that fill one each."""
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": metadata("default", 1),
        "spec": {
            "role": "KarpenterNodeRole-demo",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": CLUSTER}}],
        },
    }
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        {"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": ["4"]},
    ]
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata("default", 2),
        "spec": {
            "template": {"spec": {"nodeClassRef": reference, "requirements": requirements}},
            "disruption": {"consolidateAfter": "Never"},
        },
    }
    waiting_since = (datetime.now(timezone.utc) - timedelta(seconds=30)).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    container = {"name": "web", "image": "web", "resources": {"requests": {"cpu": "3"}}}
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": waiting_since,
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata(f"web-{n}", 10 + n, namespace="default", labels={"app": "web"}),
            "spec": {"schedulerName": "default-scheduler", "containers": [container]},
            "status": {"phase": "Pending", "conditions": [unschedulable]},
        }
        for n in range(PODS)
    ]
    return {
        CLASSES: [node_class],
        "/apis/karpenter.sh/v1/nodepools": [pool],
        "/apis/karpenter.sh/v1/nodeclaims": [],
        PODS_OF_DEFAULT: pods,
        NODES: [],
    }


def node_of(instance, number):
    """The node as its kubelet registers it."""
    name = f"{instance['InstanceId']}.us-west-2.compute.internal"
    zone = instance["Placement"]["AvailabilityZone"]
    amounts = {"cpu": "4", "memory": "15Gi", "pods": "58", "ephemeral-storage": "20Gi"}
    ready = {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": "2026-11-21T12:01:00Z",
        "lastTransitionTime": "2026-11-21T12:01:00Z",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, 100 + number, labels={"kubernetes.io/hostname": name}),
        "spec": {
            "providerID": f"aws:///{zone}/{instance['InstanceId']}",
            "taints": [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}],
        },
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


class Way:
    """The functions, and what can be seen of the world that they change."""

    def __init__(self, checks, server, cluster, settings):
        self.checks, self.server, self.cluster = checks, server, cluster
        self.table = settings["JOURNEYMAN_TABLE_NAME"]
        self.dynamodb, self.ec2 = boto3.client("dynamodb"), boto3.client("ec2")
        self.iam, self.sqs = boto3.client("iam"), boto3.client("sqs")
        self.queues = {
            function: settings[f"JOURNEYMAN_{function.upper()}_QUEUE_URL"]
            for function in ("launch", "settle", "drain")
        }

    def invoke(self, what, function, payload):
        answer = self.server.invoke(function, payload)
        return self.checks.check(
            what, is_success(*answer), (answer, self.server.log(function))
        )

    def item(self, name):
        key = {"cluster": {"S": CLUSTER}, "item": {"S": name}}
        found = self.dynamodb.get_item(TableName=self.table, Key=key, ConsistentRead=True)
        return found.get("Item")

    def items(self, prefix):
        pages = self.dynamodb.get_paginator("query").paginate(
            TableName=self.table,
            ConsistentRead=True,
            KeyConditionExpression="#c = :c AND begins_with(#i, :i)",
            ExpressionAttributeNames={"#c": "cluster", "#i": "item"},
            ExpressionAttributeValues={":c": {"S": CLUSTER}, ":i": {"S": prefix}},
        )
        return [item for page in pages for item in page["Items"]]

    def claims(self):
        """Those that have an item of their own."""
        return self.items("claim#")

    def phases(self):
        """Of all claims; those that have not launched are in items of their batch."""
        together = sum(int(batch["claims"]["N"]) for batch in self.items("batch#"))
        return sorted(claim["phase"]["S"] for claim in self.claims()) + ["promised"] * together

    def hand(self, function, payload):
        answer = self.server.invoke(function, payload)
        if is_success(*answer):
            return
        story = (payload, answer, self.server.log(function))
        self.checks.check(f"{function} takes what it is woken by", False, story)

    def visit(self, function):
        """Hands `function` the messages that are due in its queue; its schedule, where there is none."""
        queue = self.queues[function]
        due = self.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        if not due:
            self.hand(function, event(f"{function}-schedule"))
        for message in due:
            payload = event(f"{function}-beat-queue")
            payload["Records"][0]["body"] = message["Body"]
            self.hand(function, payload)
            self.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    def visit_until(self, what, function, holds):
        reached = wait_for(lambda: holds() or self.visit(function) or holds(), PATIENCE_SECONDS)
        nodes = list(self.cluster.objects[NODES].values())[:1]
        self.checks.check(what, reached, (self.phases(), nodes, self.server.log(function)))

    def instances(self):
        pages = self.ec2.get_paginator("describe_instances").paginate()
        return [
            instance
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
            if instance["State"]["Name"] in ("pending", "running")
        ]

    def check_nothing_leaked(self, when, count):
        """Listings of EC2 lag behind, so what they say may have to be waited for."""

        def both():
            ours = {instance["InstanceId"] for instance in self.instances()}
            claims = self.claims()
            return ours, {one["instance_id"]["S"] for one in claims if "instance_id" in one}

        def is_sound():
            ours, known = both()
            return ours == known and len(ours) == count

        self.checks.check(
            f"{when}, the account has {count} instances, and they are the table's",
            wait_for(is_sound, PATIENCE_SECONDS),
            both(),
        )

    def profiles(self):
        pages = self.iam.get_paginator("list_instance_profiles").paginate()
        return [p["InstanceProfileName"] for page in pages for p in page["InstanceProfiles"]]

    def node_class(self):
        return self.cluster.objects[CLASSES].get("default", {})

    def conditions(self):
        told = self.node_class().get("status", {}).get("conditions", [])
        return {condition["type"]: condition["status"] for condition in told}


def check_catalog(checks, way):
    began = time.monotonic()
    way.invoke("catalog answers its schedule", "catalog", event("catalog-schedule"))
    took = time.monotonic() - began
    item = way.item("catalog")
    if not checks.check("the catalog is stored", item, way.server.log("catalog")):
        return
    stored = next(value["B"] for value in item.values() if "B" in value)
    plain = gzip.decompress(stored)
    pages = way.ec2.get_paginator("describe_instance_types").paginate()
    names = [t["InstanceType"] for page in pages for t in page["InstanceTypes"]]
    missing = [name for name in names if name.encode() not in plain]
    checks.check(
        f"all {len(names)} instance types are in it", len(names) > 1_300 and not missing, missing
    )
    lines = [json.loads(line) for line in way.server.log("catalog").splitlines() if line[:1] == "{"]
    fields = [line.get("fields", line) for line in lines]
    counts = next((f for f in fields if f.get("message") == "catalog refreshed"), {})
    on_demand, spot = int(counts.get("on_demand", 0)), int(counts.get("spot", 0))
    checks.check(
        f"with {on_demand} on-demand prices and {spot} of spot, all asked for",
        on_demand >= len(names) - 10
        and spot > 3 * len(names)
        and not any(f.get("message") == "the last ones are kept" for f in fields),
        lines,
    )
    process = way.server.processes["catalog"].pid
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    peak = next(int(l.split()[1]) for l in status.splitlines() if l.startswith("VmHWM")) // 1024
    checks.check(
        f"a refresh of {len(names)} types took {took:.1f} s and {peak} MiB, and {len(stored)} bytes"
        " are stored",
        took < REFRESH_SECONDS_MAX and peak < MEMORY_MIB_MAX and len(stored) < STORED_BYTES_MAX,
    )


def check_guard(checks, way):
    """Until `sweep` has seen that no other program provisions the cluster, the functions do nothing."""
    way.invoke("provision answers before that", "provision", event("provision-schedule"))
    checks.check("no claim is created yet", way.phases() == [], way.phases())
    way.invoke("sweep looks who is in charge", "sweep", event("sweep-schedule"))
    head = way.item("head") or {}
    is_free = head.get("guard", {}).get("S") == "free" and "ledger_id" in head
    checks.check("the ledger is open, and its guard is free", is_free, way.server.log("sweep"))


def check_class(checks, way):
    way.invoke("resolve answers its schedule", "resolve", event("resolve-schedule"))
    validated = way.conditions().get("ValidationSucceeded")
    checks.check("whether the class can be launched is unknown", validated == "Unknown")
    way.visit_until(
        "launch, asked by resolve, tries the class out",
        "launch",
        lambda: way.item("validation#default"),
    )
    way.check_nothing_leaked("after that", 0)
    way.invoke("resolve answers its next schedule", "resolve", event("resolve-schedule"))
    status = way.node_class().get("status", {})
    ready = way.conditions().get("Ready")
    checks.check("the class is ready in the cluster", ready == "True", status)
    checks.check(
        "its status names subnets, security groups and images",
        all(status.get(key) for key in ("subnets", "securityGroups", "amis")),
        status,
    )


def check_launch(checks, way):
    way.invoke("provision answers its schedule", "provision", event("provision-schedule"))
    checks.check(
        "each pod has a new claim",
        way.phases() == ["promised"] * PODS,
        (way.phases(), way.server.log("provision")),
    )
    way.visit_until(
        "launch makes instances of all of them",
        "launch",
        lambda: way.phases() == ["launched"] * PODS,
    )
    way.check_nothing_leaked("after the launch", PODS)
    way.hand("launch", event("launch-wake-queue"))
    way.visit("launch")
    way.check_nothing_leaked("after it looked again", PODS)
    named = way.node_class().get("status", {}).get("instanceProfile")
    profiles = way.profiles()
    checks.check(
        "there is one instance profile, the class's",
        profiles == [named],
        (profiles, named),
    )
    for number, instance in enumerate(way.instances()):
        node = node_of(instance, number)
        way.cluster.objects[NODES][node["metadata"]["name"]] = node
    way.visit_until(
        "settle registers and initializes their nodes",
        "settle",
        lambda: way.phases() == ["initialized"] * PODS,
    )
    labels = [n["metadata"]["labels"] for n in way.cluster.objects[NODES].values()]
    checks.check(
        "the nodes carry their pool's label",
        all(own.get("karpenter.sh/nodepool") == "default" for own in labels),
        labels,
    )


def control(path, body=None):
    """Looks at the account from outside, or lets something happen there."""
    data = None if body is None else json.dumps(body).encode()
    url = f"{os.environ['AWS_ENDPOINT_URL_EC2']}/_control/{path}"
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=10) as response:
        return json.load(response)


def check_end(checks, way):
    for pod in way.cluster.objects[PODS_OF_DEFAULT].values():
        pod["status"]["phase"] = "Succeeded"
    for instance in way.instances():
        control("interrupt", {"instance": instance["InstanceId"]})
    warnings = [e for e in control("events") if "Spot" in e["detail-type"]]
    checks.check("EC2 takes every instance back", len(warnings) == PODS, warnings)
    payload = event("interrupt-spot")
    sample = payload["Records"][0]
    payload["Records"] = [
        {**sample, "messageId": f"{number}", "body": json.dumps(warning)}
        for number, warning in enumerate(warnings)
    ]
    way.invoke("interrupt takes the warnings in one batch", "interrupt", payload)
    checks.check("the claims are deleted", way.phases() == ["deleting"] * PODS, way.phases())
    way.visit_until("drain removes the claims", "drain", lambda: not way.claims())
    way.check_nothing_leaked("after the drain", 0)
    checks.check(
        "no node is left", not way.cluster.objects[NODES], list(way.cluster.objects[NODES])
    )
    way.cluster.objects[CLASSES].clear()
    check_unused(checks, way)


def check_unused(checks, way):
    """`sweep` deletes unused profiles each half hour and unused templates each hour. In all other minutes the test
    checks that they stay."""

    def left():
        templates = way.ec2.describe_launch_templates()["LaunchTemplates"]
        names = [template["LaunchTemplateName"] for template in templates]
        return {"profiles": way.profiles(), "templates": names}

    def minute():
        return int(time.time()) // 60

    for _ in range(3):
        before, began = left(), minute()
        way.invoke("sweep answers its schedule", "sweep", event("sweep-schedule"))
        if minute() == began:
            break
    for kind, minutes in (("profiles", 30), ("templates", 60)):
        expected = [] if began % minutes == 0 else before[kind]
        found = left()[kind]
        is_so = sorted(found) == sorted(expected)
        checks.check(f"without a class {kind} go in one of {minutes} minutes", is_so, found)


def check_wake(checks, way, settings):
    """What the API server is answered, and that a pod that fits nowhere wakes `provision`."""
    key, day = settings["JOURNEYMAN_WAKE_KEY"].encode(), int(time.time()) // 86_400
    path = hmac.new(key, f"{CLUSTER} {day}".encode(), hashlib.sha256).hexdigest()
    call = {**event("wake-url"), "rawPath": f"/{path}"}

    def answer(call):
        """Status, response and milliseconds."""
        began = time.monotonic()
        _, given = way.server.invoke("wake", call)
        took = 1_000 * (time.monotonic() - began)
        return given["statusCode"], json.loads(given["body"]).get("response", {}), took

    status, response, _ = answer(call)
    checks.check("wake allows", status == 200 and response["allowed"], (response, way.server.log("wake")))
    queue = settings["JOURNEYMAN_PROVISION_QUEUE_URL"]

    def is_called():
        messages = way.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
        return any('"call":"news"' in message["Body"] for message in messages)

    checks.check("it calls provision", wait_for(is_called, PATIENCE_SECONDS), way.server.log("wake"))
    checks.check("another path is not found", answer({**call, "rawPath": "/" + "0" * 64})[0] == 404)
    review = json.loads(call["body"])
    review["request"]["dryRun"] = True
    tries = [answer({**call, "body": json.dumps(review)}) for _ in range(20)]
    warned = all(response.get("warnings") for _, response, _ in tries)
    least = min(took for _, _, took in tries)
    checks.check(f"dry runs are warned in {least:.1f} ms, and send nothing", warned and least <= WARM_MILLISECONDS_MAX, tries)


def run(checks):
    cluster = ClusterStub(objects())
    with served(checks, cluster) as (server, settings):
        if not server:
            return
        for function in FUNCTIONS:
            server.start_function(function)
        way = Way(checks, server, cluster, settings)
        check_catalog(checks, way)
        check_guard(checks, way)
        check_class(checks, way)
        check_launch(checks, way)
        check_end(checks, way)
        check_wake(checks, way, settings)
        alive = [name for name in FUNCTIONS if server.is_alive(name)]
        checks.check("all functions are still running", alive == FUNCTIONS, alive)


if __name__ == "__main__":
    sys.exit(Checks.of(run))
