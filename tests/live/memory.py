"""How much memory each function takes in a cluster of 1,000 nodes, as built, against its MemorySize in template.yaml.

The functions make that cluster themselves, as in `server_path`: 1,000 pods wait, and each gets a node. Then there are
20 more pods on each node and 500 that wait, the pool may be consolidated, and EC2 takes machines back. Each function
is one process all the time, so that its peak is that of its largest pass, and of what earlier ones left.

It counts what the process had at most (VmHWM). What Lambda counts is some megabytes more, and a cluster may have
larger objects than these: a third of the setting must be free.
"""

import json
import sys
from pathlib import Path

import yaml

import lambda_server
import server_path
from checks import FUNCTIONS, REPOSITORY, Checks, event
from cluster_stub import ClusterStub
from lambda_server import served
from server_path import NODES, PODS_OF_DEFAULT, Way, metadata, objects
from template_links import Loader

COUNT, PODS_ON_A_NODE, WAITING, TAKEN_BACK = 1_000, 20, 500, 20
SHARE_MAX = 2 / 3
POOLS = "/apis/karpenter.sh/v1/nodepools"


def settings():
    """MiB by function."""
    template = yaml.load((REPOSITORY / "template.yaml").read_text(encoding="utf-8"), Loader)
    name = "{}Function".format
    resources = template["Resources"]
    return {f: resources[name(f.capitalize())]["Properties"]["MemorySize"] for f in FUNCTIONS}


def spec(node=None):
    """As much as a pod of a deployment says."""
    container = {
        "name": "main",
        "image": "registry.example/team/service:1.0",
        "env": [{"name": f"SETTING_{place}", "value": f"value-{place}"} for place in range(8)],
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 10},
    }
    named = {"nodeName": node} if node else {}
    return {"schedulerName": "default-scheduler", "serviceAccountName": "default", "containers": [container], **named}


def pod(number, node=None):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "service", "uid": "1", "controller": True}
    told = metadata(f"service-{number}", 100_000 + number, namespace="default", labels={"app": "service"})
    told |= {"ownerReferences": [owner], "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    if not node:
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": "Pending", "conditions": [{**waits, "lastTransitionTime": "2026-11-21T12:00:00Z"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": told, "spec": spec(node), "status": status}


def fill(cluster):
    """What runs on the nodes, what waits, and a pool whose nodes may go."""
    pods, nodes = cluster.objects[PODS_OF_DEFAULT], list(cluster.objects[NODES])
    # Those that the nodes were launched for run there.
    for waiting, node in zip(list(pods.values()), nodes):
        waiting["spec"]["nodeName"] = node
        waiting["status"] = {"phase": "Running"}
    made = [pod(n, nodes[n % len(nodes)]) for n in range(PODS_ON_A_NODE * len(nodes))]
    made += [pod(len(made) + n) for n in range(WAITING)]
    pods.update({one["metadata"]["name"]: one for one in made})
    cluster.objects[POOLS]["default"]["spec"]["disruption"] = {
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "10%"}],
    }


def take_back(way):
    taken = way.instances()[:TAKEN_BACK]
    for instance in taken:
        server_path.control("interrupt", {"instance": instance["InstanceId"]})
    warnings = [e for e in server_path.control("events") if "Spot" in e["detail-type"]]
    payload = event("interrupt-spot")
    sample = payload["Records"][0]
    payload["Records"] = [
        {**sample, "messageId": f"{n}", "body": json.dumps(warning)} for n, warning in enumerate(warnings[:10])
    ]
    way.invoke("interrupt takes a batch of warnings", "interrupt", payload)


def peak_mib(process):
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def run(checks):
    server_path.PODS, server_path.PATIENCE_SECONDS = COUNT, 900
    # The stub writes a node at a time, on a machine that may be busy.
    lambda_server.ANSWER_SECONDS = 600
    cluster = ClusterStub(objects())
    with served(checks, cluster) as (server, told):
        if not server:
            return
        for function in FUNCTIONS:
            server.start_function(function)
        way = Way(checks, server, cluster, told)
        way.queues["disrupt"] = told["JOURNEYMAN_DISRUPT_QUEUE_URL"]
        way.invoke("catalog answers its schedule", "catalog", event("catalog-schedule"))
        server_path.check_guard(checks, way)
        server_path.check_class(checks, way)
        server_path.check_launch(checks, way)
        fill(cluster)
        take_back(way)
        for function in ("provision", "disrupt", "launch", "settle", "drain", "resolve", "sweep", "catalog"):
            way.invoke(f"{function} makes a pass with {COUNT} nodes", function, event(f"{function}-schedule"))
        claims = len(way.claims())
        checks.check(f"the ledger has {claims} claims with items of their own", claims >= COUNT - TAKEN_BACK, claims)
        for function, setting in settings().items():
            peak = peak_mib(server.processes[function])
            checks.check(
                f"{function}: {peak:.0f} of {setting} MiB at most, {100 * peak / setting:.0f} %",
                peak <= SHARE_MAX * setting,
            )


if __name__ == "__main__":
    sys.exit(Checks.of(run))
