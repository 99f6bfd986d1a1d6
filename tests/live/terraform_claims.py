"""What a team has that followed a guide for Karpenter with Terraform, row by row of the table of docs/terraform.md, and
whether it is here. ACCOUNT is what `terraform` plays, CLUSTER what `install` plays.
"""

import json
import re

import boto3

from checks import FUNCTIONS, REPOSITORY

TABLE = "Coming from a Karpenter configuration"
# How the rows begin.
CONTROLLER, FARGATE, NODES, QUEUE = "role of the controller", "Fargate profile", "role of nodes", "SQS queue"
RULES, REBALANCE = "EventBridge rules", "EventBridge rule: rebalance"
SPOT_ROLE, ENTRY, TAG, NAT, SETTINGS = "service-linked role", "access entry", "tag", "NAT gateway", "settings"
PROFILE, HELM, MANIFESTS = "instance profile", "Helm releases", "manifests"
NOT_FOUND, NO_SPOT = "`NodeNotFound`", "spot instances refused"
ACCOUNT = (CONTROLLER, FARGATE, NODES, QUEUE, RULES, REBALANCE, SPOT_ROLE, ENTRY, TAG, NAT, SETTINGS)
CLUSTER = (PROFILE, HELM, MANIFESTS, NOT_FOUND, NO_SPOT)
NODE_POLICIES = {
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
}
INTERRUPTIONS = {
    ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    ("aws.health", "AWS Health Event"),
    ("aws.ec2", "EC2 Instance State-change Notification"),
}
RECOMMENDATION = ("aws.ec2", "EC2 Instance Rebalance Recommendation")


def rows():
    """The first cells of the table."""
    text = (REPOSITORY / "docs/terraform.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {TABLE}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| (.+?) \|", section, re.MULTILINE)[1:]


class Claims:
    """Checks that are about rows of the table. At the end each of `played` has one, and no row is without a check here."""

    def __init__(self, checks, cluster, played):
        self.checks, self.cluster, self.played, self.seen = checks, cluster, played, set()
        missing = {row for row in rows() if not any(row.startswith(begin) for begin in ACCOUNT + CLUSTER)}
        held = not missing and len(rows()) == len(ACCOUNT + CLUSTER)
        checks.check("each row of the table is played somewhere", held, missing)

    def check(self, row, what, holds, detail=""):
        self.seen.add(row)
        return self.checks.check(f"{row}: {what}", holds, detail)

    def close(self):
        missing = set(self.played) - self.seen
        self.checks.check("each row of this test was played", not missing, missing)


def principals(role):
    """Services that may assume a role."""
    document = role["AssumeRolePolicyDocument"]
    document = json.loads(document) if isinstance(document, str) else document
    return {s["Principal"].get("Service") for s in document["Statement"]}


def check_roles(claims, stack):
    iam, pages = boto3.client("iam"), boto3.client("cloudformation").get_paginator("list_stack_resources")
    resources = [r for page in pages.paginate(StackName=stack) for r in page["StackResourceSummaries"]]
    ids = [r["PhysicalResourceId"] for r in resources if r["ResourceType"] == "AWS::IAM::Role"]
    assumed = {name: principals(iam.get_role(RoleName=name)["Role"]) for name in ids}
    functions = boto3.client("lambda").list_functions()["Functions"]
    roles = {f["Role"].rsplit("/", 1)[-1] for f in functions}
    held = len(roles) == len(functions) == len(FUNCTIONS) - 1 and all(assumed[r] == {"lambda.amazonaws.com"} for r in roles)
    claims.check(CONTROLLER, "each function has a role of its own, for Lambda alone", held, assumed)
    services = set().union(*assumed.values())
    held = services == {"lambda.amazonaws.com", "ec2.amazonaws.com"}
    claims.check(FARGATE, "no role is for Fargate or for a node group", held, services)
    (node,) = [name for name in ids if assumed[name] == {"ec2.amazonaws.com"}]
    attached = iam.list_attached_role_policies(RoleName=node)["AttachedPolicies"]
    attached = {policy["PolicyName"] for policy in attached}
    claims.check(NODES, "the role has the policies that nodes need", attached >= NODE_POLICIES, attached)


def patterns(is_enabled):
    """Source and kind of the events that enabled or disabled rules send to the queue of interruptions."""
    events, found = boto3.client("events"), set()
    for rule in events.list_rules()["Rules"]:
        targets = [t["Arn"].rsplit(":", 1)[-1] for t in events.list_targets_by_rule(Rule=rule["Name"])["Targets"]]
        if "EventPattern" in rule and (rule["State"] == "ENABLED") == is_enabled:
            pattern = json.loads(rule["EventPattern"])
            if any("InterruptionQueue" in target for target in targets):
                found |= {(source, kind) for source in pattern["source"] for kind in pattern["detail-type"]}
    return found


def check_queue(claims, outputs):
    url = outputs["queue_urls"]["value"]["interruption"]
    sqs = boto3.client("sqs")
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"].get("Policy", "{}")
    allowed = [s for s in json.loads(policy).get("Statement", []) if s["Effect"] == "Allow"]
    held = [s["Principal"] for s in allowed] == [{"Service": "events.amazonaws.com"}]
    claims.check(QUEUE, "EventBridge alone may send to it", held, policy)
    on, off = patterns(True), patterns(False)
    claims.check(RULES, "interruptions go to the queue", INTERRUPTIONS <= on, on)
    claims.check(REBALANCE, "the rule is disabled", off == {RECOMMENDATION}, off)


def check_settings(claims, apply):
    """Settings are arguments of the module: `apply` takes them, as HCL."""
    apply('rebalance_recommendations = "replace-first"\nbatch_max_duration = "20s"')
    on = patterns(True)
    claims.check(REBALANCE, "a variable enables the rule", RECOMMENDATION in on, on)
    functions = boto3.client("lambda").list_functions()["Functions"]
    texts = {value for f in functions for value in f["Environment"]["Variables"].values()}
    claims.check(SETTINGS, "a setting of the chart comes to the functions", "20s" in texts, texts)
    apply("handle_interruptions = false")
    on = patterns(True)
    claims.check(RULES, "a variable disables the rules", not on, on)
    apply("")


def check_spot_role(claims):
    roles = {r["RoleName"] for r in boto3.client("iam").list_roles()["Roles"]}
    claims.check(SPOT_ROLE, "the last command of step 2 creates it", "AWSServiceRoleForEC2Spot" in roles, roles)


def check_network(claims, kinds):
    """`kinds`: types of the resources that Terraform has in its state."""
    expected = {"aws_s3_object", "aws_cloudformation_stack", "aws_ec2_tag"}
    claims.check(NAT, "Terraform has no part of the network", kinds == expected, kinds)
    inside = [f["FunctionName"] for f in boto3.client("lambda").list_functions()["Functions"] if f.get("VpcConfig", {}).get("SubnetIds")]
    claims.check(NAT, "the functions are in no VPC", not inside, inside)


def check_aws_auth(claims, outputs):
    """In a cluster that has no access entries."""
    # The one of the cluster's creator is EKS's own.
    entries = boto3.client("eks").list_access_entries(clusterName=claims.cluster)["accessEntries"]
    entries = [arn for arn in entries if ":role/" in arn]
    claims.check(ENTRY, "a cluster with aws-auth alone gets no access entries", not entries, entries)
    mapped = {role["rolearn"]: role for role in outputs["aws_auth_roles"]["value"]}
    groups = {group for role in mapped.values() for group in role["groups"]}
    own = {f"journeyman:{name}" for name in FUNCTIONS if name not in ("interrupt", "catalog", "wake")}
    held = groups == own | {"system:bootstrappers", "system:nodes"}
    claims.check(ENTRY, "the output has nodes and functions for aws-auth", held, groups)
    roles = {r["Arn"] for r in boto3.client("iam").list_roles()["Roles"]}
    claims.check(ENTRY, "each of them is a role", set(mapped) <= roles, set(mapped) - roles)
