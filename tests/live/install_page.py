"""docs/install.md and docs/uninstall.md, command by command as they are printed, with what a reader should see.

Called by `install`, which has started the account and the cluster. With LIVE_CHECKOUT the steps of docs/terraform.md take the
place of those that it replaces, with JOURNEYMAN_INSTALL_WITH=release those of a release. The commands are read from the pages and typed into one
shell. Nothing in them is replaced: the pages' own names of cluster and region are those of what was started. At the
end account and cluster are compared with what they were before.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import boto3
import yaml

import build_commands
import release_page
import terraform_page
import terraform_story
from checks import FUNCTIONS, REPOSITORY, Checks, missing_functions, wait_for
from machines import Machines
from reader import Reader, commands

CLUSTER = os.environ["LIVE_CLUSTER_NAME"]
ADMIN = os.environ["LIVE_ADMIN_KUBECONFIG"]
ADMIN_POLICY_GROUPS = "ministack:eks:access:"
INSTALL, UNINSTALL = "install.md", "uninstall.md"
ACCOUNT_STEPS = ("3. A role for nodes", "4. Subnets and security groups")
PODS = 5
# What stays, and whose it is.
KEPT = {
    "stack aws-sam-cli-managed-default": "sam's own stack, for every application of the account",
    "bucket aws-sam-cli-managed-default": "sam's own bucket, in that stack",
    "role AWSServiceRoleForEC2Spot": "EC2's own role, once for an account",
}
STAND_INS = """What stands in for what the page's reader has:
* the account: ministack, with IAM's policies enforced, over loopback, which counts as TLS; EC2, SSM, prices and instance profiles are the simulated account's
* tags of its subnets and security groups: kept beside it; the simulated account owns one for whatever is selected
* the cluster: a real API server, scheduler and controllers on loopback, which asks ministack's EKS for the identity behind a token
* the access entry of the creator of the cluster: EKS has an authorizer of its own for AmazonEKSClusterAdminPolicy; here its group is
  bound to cluster-admin
* machines and kubelets: played by the test; images are not pulled
* the way from the API server to the function URL of `wake`: a proxy for HTTPS with a certificate of the test's own
  (function_urls.py); that a function URL needs permissions is not enforced
* EC2's events: made by the simulated account, put on EventBridge by the test
"""


def kubectl(*words, given=None):
    command = ["kubectl", "--kubeconfig", ADMIN, *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def objects(kind, *words):
    return json.loads(kubectl("get", kind, "--output=json", *words))["items"]


def make_cluster():
    """The reader's cluster: EKS knows it, and its API server is the one that runs here."""
    config = yaml.safe_load(Path(ADMIN).read_text(encoding="utf-8"))["clusters"][0]["cluster"]
    authority = config.get("certificate-authority-data")
    if not authority:
        authority = base64.b64encode(Path(config["certificate-authority"]).read_bytes()).decode()
    ec2 = boto3.client("ec2")
    tag = [{"Name": "tag:kubernetes.io/role/internal-elb", "Values": ["1"]}]
    subnets = [s["SubnetId"] for s in ec2.describe_subnets(Filters=tag)["Subnets"]]
    group = ec2.describe_security_groups(Filters=tag)["SecurityGroups"][0]["GroupId"]
    described = {
        "endpoint": config["server"],
        "certificateAuthority": authority,
        "authToken": os.environ["LIVE_AUTH_TOKEN"],
        "securityGroup": group,
    }
    Path(os.environ["LIVE_CLUSTER"]).write_text(json.dumps(described), encoding="utf-8")
    role = boto3.client("iam").create_role(RoleName="cluster", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    eks = boto3.client("eks")
    network, access = {"subnetIds": subnets}, {"authenticationMode": "API"}
    eks.create_cluster(
        name=CLUSTER, version="1.35", roleArn=role, resourcesVpcConfig=network, accessConfig=access
    )
    wait_for(lambda: eks.describe_cluster(name=CLUSTER)["cluster"]["status"] == "ACTIVE", 30)
    return eks


def bind_administrators(reader):
    """EKS's own authorizer for the policy of the creator of the cluster."""
    environment = reader.environment()
    asked = ["kubectl", "auth", "whoami", "--output=json"]
    who = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout
    groups = json.loads(who)["status"]["userInfo"]["groups"]
    group = next(g for g in groups if g.startswith(ADMIN_POLICY_GROUPS))
    kubectl("create", "clusterrolebinding", "eks-administrators", "--clusterrole=cluster-admin", f"--group={group}")


def holds(found, kind):
    """Whether there are objects, and each has a condition of the kind that is true."""
    conditions = [one.get("status", {}).get("conditions", []) for one in found]
    is_true = [any(c["type"] == kind and c["status"] == "True" for c in of_one) for of_one in conditions]
    return bool(found) and all(is_true)


class World:
    """What is in the account and in the cluster, by name."""

    def __init__(self):
        self.clients = {
            name: boto3.client(name)
            for name in ("cloudformation", "dynamodb", "ec2", "eks", "events", "iam", "lambda", "logs", "s3", "sqs")
        }

    def account(self):
        c = self.clients
        found = {f"stack {s['StackName']}" for s in c["cloudformation"].describe_stacks()["Stacks"]}
        found |= {f"table {name}" for name in c["dynamodb"].list_tables()["TableNames"]}
        found |= {f"queue {url}" for url in c["sqs"].list_queues().get("QueueUrls", [])}
        found |= {f"function {f['FunctionName']}" for f in c["lambda"].list_functions()["Functions"]}
        found |= {f"rule {r['Name']}" for r in c["events"].list_rules()["Rules"]}
        found |= {f"log group {g['logGroupName']}" for g in c["logs"].describe_log_groups()["logGroups"]}
        found |= {f"role {r['RoleName']}" for r in c["iam"].list_roles()["Roles"]}
        found |= {f"profile {p['InstanceProfileName']}" for p in c["iam"].list_instance_profiles()["InstanceProfiles"]}
        found |= {f"template {t['LaunchTemplateName']}" for t in c["ec2"].describe_launch_templates()["LaunchTemplates"]}
        entries = c["eks"].list_access_entries(clusterName=CLUSTER)["accessEntries"]
        found |= {f"access entry {arn}" for arn in entries}
        found |= {f"bucket {b['Name']}" for b in c["s3"].list_buckets()["Buckets"]}
        with urllib.request.urlopen(f"{os.environ['AWS_ENDPOINT_URL_EC2']}/_tags", timeout=10) as answer:
            found |= {f"tags of {resource}" for resource in json.load(answer)}
        return found | {f"instance {one}" for one in self.instances()}

    def instances(self):
        pages = self.clients["ec2"].get_paginator("describe_instances").paginate()
        found = [i for page in pages for group in page["Reservations"] for i in group["Instances"]]
        return {i["InstanceId"]: i for i in found if i["State"]["Name"] not in ("shutting-down", "terminated")}

    @staticmethod
    def cluster():
        """Every object of every kind that can be listed, without events and what controllers keep."""
        kinds = kubectl("api-resources", "--verbs=list", "--output=name").split()
        passing = ("events", "events.events.k8s.io", "componentstatuses", "ipaddresses.networking.k8s.io")
        kinds = sorted(kind for kind in kinds if kind not in passing)
        shown = kubectl(
            "get",
            ",".join(kinds),
            "--all-namespaces",
            "--ignore-not-found",
            "--output=jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}"
            " {.metadata.finalizers}{'\\n'}{end}",
        )
        return set(shown.splitlines())


class Visit:
    """The reader's way through both pages."""

    def __init__(self, checks, reader, world, machines):
        self.checks, self.reader, self.world, self.machines = checks, reader, world, machines
        self.not_played = []

    def type(self, page, heading):
        """Types a section. What comes after a command that failed makes no sense, and is not tried."""
        print(f"# {page}: {heading}", flush=True)
        for block in commands(page, heading):
            if not self.checks.check(f"{page}, {heading}: its commands work as printed", self.reader.type(block)):
                raise RuntimeError(self.reader.said[-3000:].decode(errors="replace"))

    def leave_out(self, command, why):
        self.not_played.append(f"{command}: {why}")
        print(f"NOT PLAYED {command}: {why}", flush=True)

    def build(self):
        wrong = build_commands.differences()
        self.checks.check("the printed builds are those that are played elsewhere, too", not wrong, wrong)
        if os.environ.get("JOURNEYMAN_INSTALL_BUILT") != "1":
            self.type(INSTALL, "2. Build")
        else:
            build, path, functions = build_commands.printed()
            self.leave_out(build, "JOURNEYMAN_INSTALL_BUILT=1 has it built as the other tests have it")
            self.leave_out(functions, "JOURNEYMAN_INSTALL_BUILT=1 says that they are in target/lambda")
            built = f"export PATH={os.environ['LIVE_WORK']}:$PATH"
            self.checks.check("the command is found", self.reader.type(f"{path}\n{built}\njourneyman --version\n"))
        missing = missing_functions(REPOSITORY / "target" / "lambda")
        self.checks.check("each function has a folder with a file bootstrap", not missing, missing)

    def running(self, count):
        pods = objects("pods", "--selector=app=inflate", "--field-selector=status.phase=Running")
        alive = [p for p in pods if "deletionTimestamp" not in p["metadata"]]
        return len(alive) == count and alive

    def pods(self):
        *blocks, last = commands(INSTALL, "8. Pods")[0].strip().splitlines()
        self.checks.check("pods are asked for", self.reader.type("\n".join(blocks) + "\n"))
        held, shown = self.reader.type_and_watch(last, lambda: self.running(PODS), 480)
        self.checks.check(f"{PODS} pods run, on nodes of Journeyman", held, self.story())
        self.checks.check("the printed command shows the NodeClaims as they come", "default-" in shown, shown)
        ready = wait_for(lambda: self.claims_that_are("Ready"), 60)
        self.checks.check("a NodeClaim is Ready", ready, self.story())
        self.agree("after that")

    def claims_that_are(self, kind):
        return [claim for claim in objects("nodeclaims") if holds([claim], kind)]

    def agree(self, when):
        """As many instances as NodeClaims, and the same."""

        def both():
            claims = {c.get("status", {}).get("providerID", "").rsplit("/", 1)[-1] for c in objects("nodeclaims")}
            return claims == set(self.world.instances())

        self.checks.check(f"{when}, instances and NodeClaims are the same", wait_for(both, 60), self.story())

    def story(self):
        logs = boto3.client("logs")
        said = [f"nodeclaims {kubectl('get', 'nodeclaims,nodes,ec2nodeclasses', '-o', 'wide')}"]
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"], limit=200)["events"]
            said += [f"{group['logGroupName']}: {e['message']}" for e in events if '"INFO"' not in e["message"]][-5:]
        return "\n".join([*said, *self.machines.trouble[-3:]])

    def spot(self):
        """EC2 takes a machine back; the warning comes by EventBridge, as the rules of the stack hear it."""
        spots = [i for i, told in self.world.instances().items() if told.get("InstanceLifecycle") == "spot"]
        if not self.checks.check("the cheapest machine is a spot instance", spots, self.story()):
            return
        before = self.control("events")
        self.control("interrupt", {"instance": spots[0]})
        warning = next(e for e in self.control("events")[len(before):] if "Spot" in e["detail-type"])
        entry = {
            "Source": warning["source"],
            "DetailType": warning["detail-type"],
            "Resources": warning["resources"],
            "Detail": json.dumps(warning["detail"]),
        }
        sent = boto3.client("events").put_events(Entries=[entry])
        self.checks.check("EventBridge takes the warning", sent["FailedEntryCount"] == 0, sent)
        node = self.machines.joined[spots[0]]
        gone = wait_for(lambda: not any(n["metadata"]["name"] == node for n in objects("nodes")), 120)
        self.checks.check("its node is gone before the two minutes are over", gone, self.story())
        elsewhere = wait_for(lambda: (r := self.running(PODS)) and all(p["spec"]["nodeName"] != node for p in r), 120)
        self.checks.check(f"{PODS} pods run elsewhere", elsewhere, self.story())

    @staticmethod
    def control(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        url = f"{os.environ['AWS_ENDPOINT_URL_PRICING']}/_control/{path}"
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=10) as response:
            return json.load(response)

    def wake(self):
        """The API server calls `wake` by its function URL: a probe of `resolve` comes back, and one of `doctor`."""
        self.type(INSTALL, "9. Calls of the API server")
        names = {"ValidatingWebhookConfiguration": "journeyman"}
        names |= dict.fromkeys(("FlowSchema", "PriorityLevelConfiguration"), "journeyman-scheduler-events")
        missing = [k for k, name in names.items() if name not in {o["metadata"]["name"] for o in objects(k.lower())}]
        self.checks.check("the webhooks and the priority of events are there", not missing, missing)
        healthy = wait_for(lambda: holds(objects("nodepools"), "WakeHealthy"), 180)
        self.checks.check("the API server calls wake", healthy, self.story())
        before = len(self.reader.said)
        # Steps that have no counterpart in this account make no difference here.
        self.reader.type('journeyman doctor "$CLUSTER" || true\n')
        line = next((b for b in self.reader.said[before:].splitlines() if b"calls the function wake" in b), b"")
        self.checks.check("doctor gets an answer of wake", b"a probe came back after" in line, line)

    def to_zero(self):
        self.checks.check("the deployment goes", self.reader.type("kubectl delete deployment inflate\n"))
        empty = wait_for(lambda: not objects("nodeclaims") and not self.world.instances(), 300)
        self.checks.check("without pods there is no node and no instance left", empty, self.story())


def compare(visit, account, cluster):
    """What was not there before, and what is no longer."""
    here = wait_for(lambda: (now := visit.world.account()) - account - set(kept(now)) == set() and now, 60)
    here = here or visit.world.account()
    for thing in kept(here):
        visit.leave_out(f"the end of {thing}", "it is not Journeyman's: " + next(w for k, w in KEPT.items() if thing.startswith(k)))
    left = here - account - set(kept(here))
    visit.checks.check("nothing is left in the account", not left, sorted(left))
    visit.checks.check("nothing of it is missing", account <= here, sorted(account - here))
    same = wait_for(lambda: visit.world.cluster() == cluster, 90)
    now = visit.world.cluster()
    visit.checks.check("the cluster is as it was before", same, (sorted(now - cluster), sorted(cluster - now)))


def kept(account):
    return sorted(thing for thing in account if thing.startswith(tuple(KEPT)))


def install_with_terraform(visit):
    """docs/terraform.md in place of the steps that it replaces, with what its table says."""
    story = terraform_story.TerraformStory(visit, kubectl, objects)
    story.apply()
    visit.type(INSTALL, "7. A NodePool")
    story.pool(holds)
    story.agree()
    visit.pods()
    visit.spot()
    story.no_entry(3 * PODS)
    story.upgrade()
    story.no_spot_role(6 * PODS)
    story.claims.close()
    visit.leave_out("9. Calls of the API server", "docs/terraform.md deploys the stack in another way")


def install(visit):
    for heading in (*ACCOUNT_STEPS, "5. The stack", "6. The cluster", "7. A NodePool"):
        visit.type(INSTALL, heading)
    visit.pods()
    visit.spot()
    visit.wake()


def install_from_release(visit, release):
    """The section "From a release" in place of what it replaces, and docs/upgrade.md."""
    release.try_it()
    for heading in ACCOUNT_STEPS:
        visit.type(INSTALL, heading)
    release.deploy()
    visit.type(INSTALL, "7. A NodePool")
    visit.pods()
    visit.spot()
    release.doctor()
    release.upgrade()
    visit.agree("after upgrade and rollback")
    visit.leave_out("9. Calls of the API server", "its commands are those of a stack that sam deployed")


def with_real_tokens(work):
    """A folder with an `aws` for the reader. A token of EKS is a request to STS, signed for its real address, which the
    test does not send; the command `journeyman` asks STS of the emulated account."""
    folder = Path(work, "bin")
    folder.mkdir(exist_ok=True)
    file = folder / "aws"
    real = f"AWS_ENDPOINT_URL_STS=https://sts.us-west-2.amazonaws.com exec {shutil.which('aws')}"
    file.write_text(f'#!/bin/sh\n{real} "$@"\n', encoding="utf-8")
    file.chmod(0o755)
    return folder


def run(checks):
    print(STAND_INS, flush=True)
    eks = make_cluster()
    work, world = os.environ["LIVE_WORK"], World()
    environment = {
        **os.environ,
        "KUBECONFIG": f"{work}/kubeconfig",
        "AWS_PAGER": "",
        "PATH": f"{with_real_tokens(work)}:{os.environ['PATH']}",
    }
    # The page builds into `target`.
    environment.pop("CARGO_TARGET_DIR", None)
    checkout = os.environ.get("LIVE_CHECKOUT")
    is_with_terraform = checkout is not None
    is_of_release = os.environ.get("JOURNEYMAN_INSTALL_WITH") == "release"
    if is_with_terraform:
        environment |= terraform_page.prepare(checkout)
    if is_of_release:
        environment |= release_page.environment(work, environment["PATH"])
    reader = Reader(work, environment)
    if is_with_terraform or is_of_release:
        place = checkout or environment["HOME"]
        checks.check("the reader is where the commands are typed", reader.type(f"cd {place}\n"))
    machines = Machines(world.clients["ec2"], eks, world.clients["iam"], CLUSTER, ADMIN)
    visit = Visit(checks, reader, world, machines)
    release = release_page.of(visit) if is_of_release else None
    try:
        account = world.account()
        if is_with_terraform:
            terraform_page.make_bucket()
            for version in ("0.1.0", "0.2.0"):
                terraform_page.make_release(checkout, version)
            visit.type(terraform_page.PAGE, terraform_page.STEPS[0])
        else:
            visit.type(INSTALL, "1. Names")
        bind_administrators(reader)
        cluster = world.cluster()
        if release:
            install_from_release(visit, release)
        elif is_with_terraform:
            visit.build()
            install_with_terraform(visit)
        else:
            visit.build()
            install(visit)
        visit.to_zero()
        print("# uninstall.md: the command that does the steps 1 to 4", flush=True)
        ended = reader.type(f'journeyman uninstall "$CLUSTER" --definitions\n')
        # What there is to see of NodeClaims goes with their definitions.
        checks.check("journeyman uninstall ends well", ended, "" if ended else visit.story())
        if is_with_terraform:
            checks.check("Terraform removes the rest", reader.type(terraform_page.destroy()))
            terraform_page.delete_bucket()
        else:
            visit.type(UNINSTALL, "5. What you made before")
        if release:
            checks.check("the bucket goes", reader.type(release_page.delete_bucket()))
        checks.check("questions were asked and answered", reader.answers >= 2, reader.answers)
        checks.check("no machine was kept out of the cluster", not machines.refused, machines.refused)
        compare(visit, account, cluster)
    finally:
        machines.stop()
        reader.leave()
        print(f"{len(visit.not_played)} not played:", *visit.not_played, sep="\n  ", flush=True)


if __name__ == "__main__":
    sys.exit(Checks.of(run))
