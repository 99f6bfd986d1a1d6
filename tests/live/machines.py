"""The machines of the simulated account, as far as a cluster sees them: whose nodes join, and fall silent."""

import json
import subprocess
import threading
import time

SILENT = '{"metadata":{"annotations":{"kubelet.control-plane/ready":"Silent"}}}'


class Machines:
    """Looks each second which instances run, and has their nodes join, with what their NodeClaims say of them.

    A node is let in by EKS if its role has an access entry for nodes: as long as it has none, it is in `refused`."""

    def __init__(self, ec2, eks, iam, cluster, kubeconfig):
        self.ec2, self.eks, self.iam = ec2, eks, iam
        self.cluster, self.kubeconfig = cluster, kubeconfig
        self.joined, self.refused, self.silent, self.trouble = {}, set(), set(), []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def stop(self):
        self.ended.set()
        self.thread.join(20)

    def kubectl(self, *words, given=None):
        command = ["kubectl", "--kubeconfig", self.kubeconfig, *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)

    def play(self):
        while not self.ended.wait(1):
            try:
                self.look()
            except Exception as error:  # The account may fail as AWS does; the next look mends it.
                self.trouble.append(repr(error))
                time.sleep(1)

    def instances(self):
        pages = self.ec2.get_paginator("describe_instances").paginate()
        found = [i for page in pages for group in page["Reservations"] for i in group["Instances"]]
        return {i["InstanceId"]: i for i in found if i["State"]["Name"] == "running"}

    def look(self):
        running = self.instances()
        for instance in running.values():
            if instance["InstanceId"] not in self.joined and self.may_join(instance):
                self.join(instance)
        for gone in self.joined.keys() - running.keys() - self.silent:
            self.kubectl("patch", "node", self.joined[gone], "--type=merge", f"--patch={SILENT}")
            self.silent.add(gone)

    def may_join(self, instance):
        profile = instance["IamInstanceProfile"]["Arn"].rsplit("/", 1)[-1]
        for role in self.iam.get_instance_profile(InstanceProfileName=profile)["InstanceProfile"]["Roles"]:
            arn = self.iam.get_role(RoleName=role["RoleName"])["Role"]["Arn"]
            try:
                entry = self.eks.describe_access_entry(clusterName=self.cluster, principalArn=arn)["accessEntry"]
            except self.eks.exceptions.ResourceNotFoundException:
                continue
            if entry["type"] == "EC2_LINUX":
                self.refused.discard(instance["InstanceId"])
                return True
        self.refused.add(instance["InstanceId"])
        return False

    def join(self, instance):
        name = f"{instance['InstanceId']}.us-west-2.compute.internal"
        claims = json.loads(self.kubectl("get", "nodeclaims", "--output=json").stdout)["items"]
        of_it = [
            c for c in claims if c.get("status", {}).get("providerID", "").endswith(f"/{instance['InstanceId']}")
        ]
        if not of_it:
            return
        zone, status = instance["Placement"]["AvailabilityZone"], of_it[0]["status"]
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": instance["InstanceType"],
            "topology.kubernetes.io/zone": zone,
            "topology.kubernetes.io/region": "us-west-2",
        }
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "providerID": f"aws:///{zone}/{instance['InstanceId']}",
                "taints": [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}],
            },
            "status": {"capacity": status["capacity"], "allocatable": status["allocatable"]},
        }
        done = self.kubectl("create", "--filename=-", given=json.dumps(node))
        if done.returncode == 0:
            self.joined[instance["InstanceId"]] = name
            print(f"machines: {name} joins", flush=True)
        else:
            self.trouble.append(done.stderr)
