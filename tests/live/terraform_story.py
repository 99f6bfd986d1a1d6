"""Rows of the table of docs/terraform.md that need a cluster, played by `install` with JOURNEYMAN_INSTALL_WITH=terraform."""

import re

import boto3

import release_files
import terraform_claims as claims
import terraform_page as page
from checks import wait_for
from reader import commands

ROLE = "AWSServiceRoleForEC2Spot"
CREATE_ROLE = "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"


class TerraformStory:
    """`visit` is the reader's way through the pages; `kubectl` and `objects` ask the cluster as its administrator."""

    def __init__(self, visit, kubectl, objects):
        self.visit, self.kubectl, self.objects = visit, kubectl, objects
        self.claims = claims.Claims(visit.checks, page.CLUSTER, claims.CLUSTER)

    def definitions(self):
        return {one["metadata"]["name"] for one in self.objects("customresourcedefinitions")}

    def rights(self):
        return {one["metadata"]["name"] for one in self.objects("clusterroles") if one["metadata"]["name"].startswith("journeyman")}

    def apply(self):
        """Steps 2 and 3: CRDs come by `journeyman install`, and not by Terraform."""
        before = self.definitions() | self.rights()
        self.visit.type(page.PAGE, page.STEPS[1])
        same = self.definitions() | self.rights() == before
        self.claims.check(claims.HELM, "Terraform adds no CRD and no rights", same, self.definitions())
        self.visit.type(page.PAGE, page.STEPS[2])
        own = {"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"}
        held = own <= self.definitions() and bool(self.rights() - before)
        self.claims.check(claims.HELM, "journeyman install adds CRDs and rights", held, self.definitions())
        workloads = self.objects("deployments,daemonsets,statefulsets", "--all-namespaces")
        names = [one["metadata"]["name"] for one in workloads]
        self.claims.check(claims.HELM, "nothing of it runs in the cluster", not names, names)

    def said(self, command):
        """What a command says that may end with any exit code."""
        before = len(self.visit.reader.said)
        self.visit.reader.type(f"{command} || true\n")
        return self.visit.reader.said[before:].decode(errors="replace")

    def pool(self, holds):
        """After step 7, whose manifests are Karpenter's own."""
        kinds = ("nodepools", "ec2nodeclasses")
        ready = {kind: wait_for(lambda: holds(self.objects(kind), "Ready"), 120) for kind in kinds}
        self.claims.check(claims.MANIFESTS, "NodePool and EC2NodeClass are Ready", all(ready.values()), ready)
        profiles = boto3.client("iam").list_instance_profiles()["InstanceProfiles"]
        own = {role["RoleName"] for p in profiles if p["Path"].startswith("/journeyman/") for role in p["Roles"]}
        role = self.visit.reader.environment()["NODE_ROLE_NAME"]
        self.claims.check(claims.PROFILE, "the functions made it, with the role for nodes", own == {role}, profiles)

    def agree(self):
        """`journeyman deploy` finds what Terraform uploaded and deployed."""
        said = self.said('journeyman deploy "$CLUSTER" --release "$TF_VAR_release_dir" --diff')
        held = "Uploaded 0 of 10 zips" in said and "is up to date" in said
        self.visit.checks.check("deploy finds the files and the stack of Terraform", held, said)

    def scale(self, count):
        self.kubectl("scale", "deployment", "inflate", f"--replicas={count}")

    def no_spot_role(self, count):
        """An account that never launched a spot instance."""
        boto3.client("iam").delete_service_linked_role(RoleName=ROLE)
        before = set(self.visit.world.instances())
        self.scale(count)
        held = wait_for(lambda: self.visit.running(count), 240)
        self.claims.check(claims.NO_SPOT, f"{count} pods run without it", held, self.visit.story())
        new = {i: one.get("InstanceLifecycle") for i, one in self.visit.world.instances().items() if i not in before}
        held = new and not any(new.values())
        self.claims.check(claims.NO_SPOT, "the new instances are on-demand", held, new)
        events = self.kubectl("get", "events", "--all-namespaces", "--output=wide")
        self.claims.check(claims.NO_SPOT, "an event says why", "ServiceLinkedRoleCreationNotPermitted" in events, events)
        said = self.said('journeyman doctor "$CLUSTER"')
        held = f"no role {ROLE}" in said and CREATE_ROLE in said
        self.claims.check(claims.NO_SPOT, "doctor prints the command that creates the role", held, said)
        self.visit.reader.type(f"{CREATE_ROLE}\n")
        said = self.said('journeyman doctor "$CLUSTER"')
        self.claims.check(claims.NO_SPOT, "then doctor finds the role", f"no role {ROLE}" not in said, said)

    def registered(self):
        """Reasons of the condition by which nodes join."""
        conditions = [c for claim in self.objects("nodeclaims") for c in claim.get("status", {}).get("conditions", [])]
        return {c["reason"] for c in conditions if c["type"] == "Registered" and c["status"] != "True"}

    def no_entry(self, count):
        """A node whose role the cluster does not admit."""
        eks, entry = boto3.client("eks"), {"clusterName": page.CLUSTER}
        name = self.visit.reader.environment()["NODE_ROLE_NAME"]
        arn = boto3.client("iam").get_role(RoleName=name)["Role"]["Arn"]
        eks.delete_access_entry(**entry, principalArn=arn)
        self.scale(count)
        held = wait_for(lambda: self.registered() == {"NodeNotFound"}, 90)
        self.claims.check(claims.NOT_FOUND, "at first nothing else is known", held, self.registered())
        held = wait_for(lambda: self.registered() == {"NoAccessEntry"}, 240)
        self.claims.check(claims.NOT_FOUND, "the condition names the cause", held, self.visit.story())
        said = self.said("kubectl describe nodeclaims")
        self.claims.check(claims.NOT_FOUND, "kubectl describe shows the role", "NoAccessEntry" in said and f"role {name} has no access entry" in said, said)
        said = self.said('journeyman doctor "$CLUSTER"')
        held = f"Nodes of the role {name} are not admitted" in said and "aws eks create-access-entry" in said
        self.claims.check(claims.NOT_FOUND, "doctor names the role and the command", held, said)
        self.visit.reader.type(f'aws eks create-access-entry --cluster-name "$CLUSTER" --principal-arn {arn} --type EC2_LINUX\n')
        held = wait_for(lambda: self.visit.running(count), 240)
        self.claims.check(claims.NOT_FOUND, f"with an entry the node joins, and {count} pods run", held, self.visit.story())

    def upgrade(self):
        """To release 0.2.0, as printed."""
        first, second = commands(page.PAGE, page.UPGRADE)
        before = len(self.visit.reader.said)
        check = self.visit.checks.check
        check("an upgrade is compared", self.visit.reader.type(first))
        said = self.visit.reader.said[before:].decode(errors="replace")
        held = "can read" in said and re.search(r"^ +change +\S+Function ", said, re.MULTILINE) and release_files.versions() == {"0.1.0"}
        check("the ledger can be read, changes are shown, and the stack stays", held, said)
        nodes = {one["metadata"]["uid"] for one in self.objects("nodes")}
        check("an upgrade works as printed", self.visit.reader.type(second))
        check("the functions are of the next release", release_files.versions() == {"0.2.0"}, release_files.versions())
        check("the nodes stay", nodes == {one["metadata"]["uid"] for one in self.objects("nodes")}, self.visit.story())
