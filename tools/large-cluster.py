#!/usr/bin/env python3
"""Prints a large cluster as `kubectl get -A -o json` would: what `plan` and `simulate` read of it.

    large-cluster.py [--nodes 5000] [--pods 50000] [--pending 500] > cluster.json

One NodePool and its EC2NodeClass, nodes with their NodeClaims, Deployments with their ReplicaSets, and
their pods: all of them as a server stores them, with the fields that Journeyman does not read. The last `--pending` of the pods
wait. The same arguments print the same bytes. Standard library only.
"""
import argparse
import json
import sys

CREATED = "2026-08-01T08:00:00Z"
ZONES = ["us-west-2a", "us-west-2b", "us-west-2c"]
# Type, CPU, memory and prefix of the allocatable amounts, as nodes have them.
TYPES = [
    ("m7i.2xlarge", "8", "32476512Ki", "7910m", "31137Mi", "58"),
    ("c7i.2xlarge", "8", "16073584Ki", "7910m", "14825Mi", "58"),
    ("m7i.4xlarge", "16", "65036144Ki", "15890m", "60862Mi", "234"),
]
# Deployments have so many pods.
REPLICAS = 100
# What ReplicaSets and their pods are called with: letters that make no words.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
DIGITS = "456789bcdf"


def written(number, letters, length):
    """`number` in so many of `letters`; numbers that are near are not alike."""
    number = number * 2654435761 % 2**40
    text = ""
    for _ in range(length):
        number, digit = divmod(number, len(letters))
        text += letters[digit]
    return text


def uid(kind, number):
    return f"{kind:08x}-0000-4000-8000-{number:012x}"


def metadata(name, kind, number, **more):
    """What a server adds to a name; `managedFields` are most of it."""
    fields = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:replicas": {}, "f:template": {}}}
    managed = {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": CREATED,
               "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {"name": name, "uid": uid(kind, number), "resourceVersion": str(100000 + number), "generation": 1,
            "creationTimestamp": CREATED, "managedFields": [managed], **more}


def condition(kind, **more):
    return {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": CREATED, **more}


def pool():
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": reference, "requirements": requirements, "expireAfter": "720h"}}
    disruption = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m",
                  "budgets": [{"nodes": "10%"}]}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata("general", 1, 1),
            "spec": {"template": template, "disruption": disruption, "weight": 10},
            "status": {"conditions": [condition("Ready")]}}


def node_class():
    subnets = [{"id": f"subnet-{letter}", "zone": zone, "zoneID": f"usw2-az{place + 1}"}
               for place, (letter, zone) in enumerate(zip("abc", ZONES))]
    image = {"id": "ami-0a", "name": "al2023",
             "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": metadata("default", 2, 1),
            "spec": {"role": "nodes", "amiSelectorTerms": [{"alias": "al2023@latest"}],
                     "subnetSelectorTerms": [{"tags": {"team": "a"}}],
                     "securityGroupSelectorTerms": [{"tags": {"team": "a"}}]},
            "status": {"subnets": subnets, "securityGroups": [{"id": "sg-0a", "name": "nodes"}], "amis": [image],
                       "instanceProfile": "nodes_1",
                       "conditions": [condition("Ready", observedGeneration=1)]}}


def node_name(number):
    return f"ip-10-{number >> 16}-{number >> 8 & 255}-{number & 255}.us-west-2.compute.internal"


def node_and_claim(number):
    kind, cpu, memory, free_cpu, free_memory, pods = TYPES[number % len(TYPES)]
    zone, name, claim = ZONES[number % len(ZONES)], node_name(number), f"general-{written(number, LETTERS, 8)}"
    labels = {
        "karpenter.sh/nodepool": "general", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
        "karpenter.sh/capacity-type": "on-demand", "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "us-west-2",
        "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
        "karpenter.k8s.aws/instance-category": kind[0], "karpenter.k8s.aws/instance-family": kind.split(".")[0],
        "karpenter.k8s.aws/instance-size": kind.split(".")[1], "karpenter.k8s.aws/instance-generation": "7",
        "karpenter.k8s.aws/instance-cpu": cpu, "karpenter.k8s.aws/ec2nodeclass": "default",
    }
    provider = f"aws:///{zone}/i-{number:017x}"
    capacity = {"cpu": cpu, "memory": memory, "pods": pods, "ephemeral-storage": "20Gi"}
    allocatable = {"cpu": free_cpu, "memory": free_memory, "pods": pods, "ephemeral-storage": "17Gi"}
    kinds = ["Launched", "Registered", "Initialized", "Consolidatable", "Ready"]
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    yield {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": metadata(claim, 3, number, labels=labels),
           "spec": {"nodeClassRef": reference, "expireAfter": "720h",
                    "requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [kind]}],
                    "resources": {"requests": {"cpu": "5", "memory": "10Gi", "pods": "10"}}},
           "status": {"nodeName": name, "providerID": provider, "imageID": "ami-0a", "capacity": capacity,
                      "allocatable": allocatable, "conditions": [condition(kind) for kind in kinds]}}
    images = [{"names": [f"registry.example/team/service-{place}@sha256:{place:064x}"], "sizeBytes": 104857600}
              for place in range(5)]
    yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata(name, 4, number, labels=labels),
           "spec": {"providerID": provider},
           "status": {"capacity": capacity, "allocatable": allocatable, "images": images,
                      "conditions": [condition("Ready")],
                      "addresses": [{"type": "InternalIP", "address": name[3:].split(".")[0].replace("-", ".")}]}}


def pod_spec(deployment):
    environment = [{"name": f"SETTING_{place}", "value": f"value-{place}"} for place in range(8)]
    container = {"name": "main", "image": f"registry.example/team/{deployment}:1.0", "env": environment,
                 "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
                 "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
                 "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 10},
                 "terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "IfNotPresent"}
    spread = {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
              "labelSelector": {"matchLabels": {"app": deployment}}}
    return {"containers": [container], "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "serviceAccountName": "default", "terminationGracePeriodSeconds": 30, "priority": 0,
            "topologySpreadConstraints": [spread]}


def owner(kind, name, number, of_kind):
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid(of_kind, number), "controller": True,
             "blockOwnerDeletion": True}]


def workload(number, replicas):
    """A Deployment and its ReplicaSet."""
    name, labels = f"service-{number}", {"app": f"service-{number}"}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(name)}}
    place = {"namespace": f"team-{number % 20}", "labels": labels}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(name, 5, number, **place), "spec": spec}
    replica_set = f"{name}-{written(number, DIGITS, 9)}4"
    place["ownerReferences"] = owner("Deployment", name, number, 5)
    yield {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata(replica_set, 6, number, **place),
           "spec": spec, "status": {"replicas": replicas}}


def pod(number, node):
    of, name = number // REPLICAS, f"service-{number // REPLICAS}"
    replica_set = f"{name}-{written(of, DIGITS, 9)}4"
    place = {"namespace": f"team-{of % 20}", "labels": {"app": name, "pod-template-hash": replica_set.split("-")[-1]},
             "ownerReferences": owner("ReplicaSet", replica_set, of, 6)}
    spec, conditions = pod_spec(name), ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
    status = {"phase": "Running", "conditions": [condition(kind) for kind in conditions], "startTime": CREATED,
              "containerStatuses": [{"name": "main", "ready": True, "restartCount": 0,
                                     "state": {"running": {"startedAt": CREATED}}}]}
    if node is None:
        waits = condition("PodScheduled", status="False", reason="Unschedulable", message="no node has room")
        status = {"phase": "Pending", "conditions": [waits]}
    else:
        spec["nodeName"] = node_name(node)
    # Suffixes of pods are five letters: those of one ReplicaSet are all different.
    suffix = written(number % REPLICAS, LETTERS, 5)
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": metadata(f"{replica_set}-{suffix}", 7, number, **place), "spec": spec, "status": status}


def objects(nodes, pods, pending):
    yield from (pool(), node_class())
    for number in range(nodes):
        yield from node_and_claim(number)
    for number in range(-(-pods // REPLICAS)):
        yield from workload(number, min(REPLICAS, pods - number * REPLICAS))
    for number in range(pods):
        yield pod(number, None if nodes == 0 or number >= pods - pending else number % nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in [("nodes", 5000), ("pods", 50000), ("pending", 500)]:
        parser.add_argument(f"--{name}", type=int, default=number, help=f"default: {number}")
    given = parser.parse_args()
    print('{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [')
    before = ""
    for item in objects(given.nodes, given.pods, given.pending):
        # As kubectl prints: a line for each value.
        sys.stdout.write(before + json.dumps(item, indent=4))
        before = ",\n"
    print("\n]}")


if __name__ == "__main__":
    main()
