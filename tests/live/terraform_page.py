"""docs/terraform.md, command by command as it is printed, with what a reader should see in the account.

Called by `terraform`, which has started the account and copied the module. The cluster is an entry of EKS without an API
server: with JOURNEYMAN_INSTALL_WITH=terraform `install` plays the page to its end, in a cluster.
"""

import os
import subprocess
import sys
from pathlib import Path

import boto3

from checks import FUNCTIONS, Checks, missing_functions
from reader import Reader, commands

PAGE, CLUSTER, BUCKET = "terraform.md", "my-cluster", "my-bucket"
EXAMPLE = "deploy/terraform/examples/existing-cluster"
STEPS = ("1. Build and package", "2. Apply", "3. The cluster and a NodePool")
# The emulator has no host for each bucket, and the real STS is not asked who is calling.
PROVIDER = """provider "aws" {
  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_requesting_account_id  = true
}
"""
ARGUMENTS = ["-var", f"cluster_name={CLUSTER}", "-var", f"bucket={BUCKET}"]


def prepare(checkout):
    """Makes the example work with an emulated account, and says with which environment."""
    Path(checkout, EXAMPLE, "provider.tf").write_text(PROVIDER, encoding="utf-8")
    # Terraform asks with other words than the reader answers.
    return {"TF_CLI_ARGS_apply": "-auto-approve", "TF_CLI_ARGS_destroy": "-auto-approve"}


def make_bucket():
    place = {"LocationConstraint": os.environ["AWS_REGION"]}
    boto3.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)


def delete_bucket():
    """With the uploads of `sam package`, which are the reader's."""
    s3 = boto3.client("s3")
    for one in s3.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        s3.delete_object(Bucket=BUCKET, Key=one["Key"])
    s3.delete_bucket(Bucket=BUCKET)


def destroy():
    """The last command of the page. The one before deletes the stack."""
    return commands(PAGE, "Upgrade and remove")[0].splitlines()[1] + "\n"


def make_account():
    subnets = [s["SubnetId"] for s in boto3.client("ec2").describe_subnets()["Subnets"]]
    boto3.client("eks").create_cluster(
        name=CLUSTER,
        version="1.35",
        roleArn="arn:aws:iam::123456789012:role/cluster",
        resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": "API"},
    )
    make_bucket()
    return subnets


def plan(checkout):
    """0: no change; 2: there are changes. And what was printed."""
    command = ["terraform", f"-chdir={EXAMPLE}", "plan", "-detailed-exitcode", *ARGUMENTS]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def stack():
    return boto3.client("cloudformation").describe_stacks(StackName="journeyman")["Stacks"][0]


def discovery_tags():
    filters = [{"Name": "key", "Values": ["karpenter.sh/discovery"]}]
    tags = boto3.client("ec2").describe_tags(Filters=filters)["Tags"]
    return {tag["ResourceId"] for tag in tags if tag["Value"] == CLUSTER}


def check_applied(checks, subnets):
    deployed = stack()
    parameters = {p["ParameterKey"]: p["ParameterValue"] for p in deployed["Parameters"]}
    checks.check("the stack is there", deployed["StackStatus"] == "CREATE_COMPLETE", deployed["StackStatus"])
    checks.check("it has the cluster's name", parameters.get("ClusterName") == CLUSTER, parameters)
    functions = boto3.client("lambda").list_functions()["Functions"]
    deployed = [name for name in FUNCTIONS if name != "wake"]  # The page sets no key.
    checks.check(f"{len(deployed)} functions are there", len(functions) == len(deployed), functions)
    entries = boto3.client("eks").list_access_entries(clusterName=CLUSTER)["accessEntries"]
    entries = {arn.rsplit("/", 1)[-1].split("-")[1] for arn in entries if "/journeyman-" in arn}
    admitted = {f"{name.capitalize()}Role" for name in deployed} - {"InterruptRole", "CatalogRole"}
    checks.check("nodes and functions are admitted to the cluster", entries == admitted | {"NodeRole"}, entries)
    tagged = discovery_tags()
    checks.check("subnets and security group are tagged", len(tagged) > len(subnets) and set(subnets) < tagged, tagged)


def check_changes(checks, checkout, type_command):
    status, said = plan(checkout)
    checks.check("without a change Terraform plans none", status == 0, said)
    packaged = Path(checkout, "packaged.yaml")
    text = packaged.read_text(encoding="utf-8")
    packaged.write_text(text.replace("Creates NodeClaims for pending pods.", "Changed."), encoding="utf-8")
    checks.check("another template is applied", type_command(commands(PAGE, STEPS[1])[0]))
    changed = [f for f in boto3.client("lambda").list_functions()["Functions"] if f.get("Description") == "Changed."]
    checks.check("it changes a function", len(changed) == 1 and stack()["StackStatus"] == "UPDATE_COMPLETE", changed)


def run(checks):
    checkout = os.environ["LIVE_CHECKOUT"]
    missing = missing_functions(Path(checkout, "target", "lambda"))
    if not checks.check("all functions are built", not missing, f"no bootstrap for {', '.join(missing)}"):
        return
    subnets = make_account()
    reader = Reader(os.environ["LIVE_WORK"], {**os.environ, **prepare(checkout)})
    try:
        checks.check("the reader is in the checkout", reader.type(f"cd {checkout}\n"))
        for heading in STEPS[:2]:
            for block in commands(PAGE, heading):
                if not checks.check(f"{heading}: its commands work as printed", reader.type(block)):
                    return
        check_applied(checks, subnets)
        check_changes(checks, checkout, reader.type)
        _, role = commands(PAGE, STEPS[2])[0].splitlines()
        roles = boto3.client("iam").list_roles()["Roles"]
        checks.check("the role for nodes is shown", reader.type(role))
        shown = reader.environment().get("NODE_ROLE_NAME")
        checks.check("it is a role", shown in {r["RoleName"] for r in roles}, shown)
        checks.check("the last command removes it", reader.type(destroy()))
        functions = boto3.client("lambda").list_functions()["Functions"]
        objects = boto3.client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])
        templates = [o["Key"] for o in objects if o["Key"].endswith(".yaml")]
        left = (functions, discovery_tags(), templates)
        checks.check("no function, tag or template is left", not any(left), left)
        tables = boto3.client("dynamodb").list_tables()["TableNames"]
        checks.check("the table outlives the stack, as the page says", len(tables) == 1, tables)
    finally:
        reader.leave()


if __name__ == "__main__":
    sys.exit(Checks.of(run))
