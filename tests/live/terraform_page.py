"""docs/terraform.md, command by command as it is printed, with what a reader should see in the account.

Called by `terraform`, which has started the account and copied the module. The cluster is an entry of EKS without an API
server: with JOURNEYMAN_INSTALL_WITH=terraform `install` plays the page to its end, in a cluster. Commands of `journeyman`
are left to it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import boto3

import release_files
import terraform_claims
from checks import FUNCTIONS, REPOSITORY, Checks, missing_functions
from reader import Reader, commands

PAGE, CLUSTER, BUCKET, STACK = "terraform.md", "my-cluster", "my-bucket", "journeyman"
STEPS = ("1. The files", "2. Apply", "3. The cluster and a NodePool")
UPGRADE, REMOVE, CHECKOUT = "Upgrade and roll back", "Remove", "From a checkout"
EXAMPLES = ("terraform/examples/existing-cluster", "deploy/terraform/examples/existing-cluster")
# The emulator has no host for each bucket, and the real STS is not asked who is calling.
PROVIDER = """provider "aws" {
  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_requesting_account_id  = true
}
"""
# Of the function `provision`, and in a template that differs by it.
DESCRIPTION, CHANGED = "Creates NodeClaims for pending pods.", "Changed."
# It is there in no template: a resource that cannot be made.
BROKEN = '\nResources:\n  Broken:\n    Type: AWS::CloudFormation::WaitCondition\n    Properties: {Handle: none, Timeout: "1", Count: 1}\n'


def prepare(checkout):
    """Makes the example work with an emulated account, and says with which environment."""
    for example in EXAMPLES:
        folder = Path(checkout, example)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "provider.tf").write_text(PROVIDER, encoding="utf-8")
    # Terraform asks with other words than the reader answers.
    return {"TF_CLI_ARGS_apply": "-auto-approve", "TF_CLI_ARGS_destroy": "-auto-approve"}


def make_release(checkout, version, program=release_files.built):
    return release_files.make(Path(checkout, f"journeyman-{version}-stack"), version, version, program)


def with_another_wake(name, architecture, seed):
    """A release in which one function changed."""
    make = release_files.text_of if name == "wake" else release_files.built
    return make(name, architecture, seed)


def make_bucket():
    place = {"LocationConstraint": os.environ["AWS_REGION"]}
    boto3.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)


def keys():
    return {o["Key"] for o in boto3.client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])}


def delete_bucket():
    """With the uploads of `sam package` and `upgrade --diff`, which are the reader's."""
    s3 = boto3.client("s3")
    for key in keys():
        s3.delete_object(Bucket=BUCKET, Key=key)
    s3.delete_bucket(Bucket=BUCKET)


def destroy():
    """The last command of the page. The one before deletes the stack."""
    return commands(PAGE, REMOVE)[0].splitlines()[1] + "\n"


def terraform_lines(block):
    """What a section has to type without a cluster."""
    return "".join(f"{line}\n" for line in block.splitlines() if not line.startswith("journeyman "))


def make_cluster(mode, subnets):
    """In place of the one that is there."""
    eks = boto3.client("eks")
    if eks.list_clusters()["clusters"]:
        eks.delete_cluster(name=CLUSTER)
    eks.create_cluster(
        name=CLUSTER,
        version="1.35",
        roleArn="arn:aws:iam::123456789012:role/cluster",
        resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": mode},
    )


def make_account():
    subnets = [s["SubnetId"] for s in boto3.client("ec2").describe_subnets()["Subnets"]]
    make_cluster("API", subnets)
    make_bucket()
    return subnets


def stack():
    return boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]


def functions():
    return boto3.client("lambda").list_functions()["Functions"]


def changed_functions():
    return [f["FunctionName"] for f in functions() if f.get("Description") == CHANGED]


def discovery_tags():
    filters = [{"Name": "key", "Values": ["karpenter.sh/discovery"]}]
    tags = boto3.client("ec2").describe_tags(Filters=filters)["Tags"]
    return {tag["ResourceId"] for tag in tags if tag["Value"] == CLUSTER}


def files_of(folder):
    """What the module uploads of a release: the keys of `journeyman deploy`."""
    zips = {f"journeyman/{path.name}" for path in folder.glob("*-x86_64-*.zip")}
    digest = release_files.digest(folder / "template.yaml")
    return zips | {f"journeyman/template-{digest}.yaml"}


class Visit:
    """The reader's way through the page."""

    def __init__(self, checks, reader, checkout):
        self.checks, self.reader, self.checkout = checks, reader, checkout

    def type(self, what, text):
        """What comes after a command that failed makes no sense, and is not tried."""
        if not self.checks.check(what, self.reader.type(text)):
            raise RuntimeError(self.reader.said[-3000:].decode(errors="replace"))

    def sections(self, *headings):
        for heading in headings:
            for block in commands(PAGE, heading):
                self.type(f"{heading}: its commands work as printed", block)

    def plan(self):
        """0: no change; 2: there are changes. And what was printed."""
        environment = self.reader.environment()
        command = ["terraform", f"-chdir={environment['EXAMPLE']}", "plan", "-detailed-exitcode"]
        done = subprocess.run(
            command, cwd=self.checkout, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def check_first_block(self):
        """What the page shows first is a configuration that Terraform accepts, beside the unpacked release."""
        text = (REPOSITORY / "docs" / PAGE).read_text(encoding="utf-8")
        shown = text.partition("```hcl\n")[2].partition("```")[0]
        Path(self.checkout, "main.tf").write_text(shown, encoding="utf-8")
        self.type("the configuration on the page is valid", "terraform init && terraform validate\n")

    def check_applied(self, subnets, claims):
        deployed, check = stack(), self.checks.check
        parameters = {p["ParameterKey"]: p["ParameterValue"] for p in deployed["Parameters"]}
        check("the stack is there", deployed["StackStatus"] == "CREATE_COMPLETE", deployed["StackStatus"])
        check("it has the cluster's name", parameters.get("ClusterName") == CLUSTER, parameters)
        names = [name for name in FUNCTIONS if name != "wake"]  # The page sets no key.
        check(f"{len(names)} functions are there", len(functions()) == len(names), functions())
        entries = boto3.client("eks").list_access_entries(clusterName=CLUSTER)["accessEntries"]
        entries = {arn.rsplit("/", 1)[-1].split("-")[1] for arn in entries if "/journeyman-" in arn}
        admitted = {f"{name.capitalize()}Role" for name in names} - {"InterruptRole", "CatalogRole"}
        held = entries == admitted | {"NodeRole"}
        claims.check(terraform_claims.ENTRY, "nodes and functions are admitted to the cluster", held, entries)
        tagged = discovery_tags()
        claims.check(terraform_claims.TAG, "subnets and security group have it", set(subnets) < tagged, tagged)
        status, said = self.plan()
        check("without a change Terraform plans none", status == 0, said)

    def change_release(self, version):
        """With the printed commands, for an upgrade and for the way back."""
        first, second = commands(PAGE, UPGRADE)
        self.type(f"release {version} is chosen", terraform_lines(first).replace("0.2.0", version))
        status, said = self.plan()
        shown = ("aws_s3_object.template", "aws_s3_object.zip", "aws_cloudformation_stack.this")
        held = status == 2 and all(f"module.journeyman.{name}" in said for name in shown)
        self.checks.check("Terraform plans another template, other code and their stack", held, said)
        self.type(f"release {version} is applied", terraform_lines(second))
        self.checks.check("the functions are of that release", release_files.versions() == {version}, release_files.versions())
        files = files_of(Path(self.checkout, f"journeyman-{version}-stack"))
        self.checks.check("the bucket has its files alone", keys() == files, keys() ^ files)

    def fail(self):
        """A release whose stack cannot be made, after release 0.1.0."""
        folder = make_release(self.checkout, "0.3.0", release_files.text_of)
        file = folder / "template.yaml"
        file.write_text(file.read_text(encoding="utf-8").replace("\nResources:\n", BROKEN), encoding="utf-8")
        environment = {**self.reader.environment(), "TF_VAR_release_dir": str(folder)}
        command = ["terraform", f"-chdir={environment['EXAMPLE']}", "apply"]
        done = subprocess.run(
            command, cwd=self.checkout, env=environment, capture_output=True, text=True, check=False
        )
        held = done.returncode != 0 and stack()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
        self.checks.check("a release that fails is an error", held, done.stdout + done.stderr)
        former = files_of(Path(self.checkout, "journeyman-0.1.0-stack"))
        held = release_files.versions() == {"0.1.0"} and former <= keys()
        self.checks.check("the release before is there again, and its files", held, (release_files.versions(), former - keys()))
        self.type("the release before is applied again", terraform_lines(commands(PAGE, UPGRADE)[1]))
        self.checks.check("then the bucket has its files alone", keys() == former, keys() ^ former)

    def change_behind(self):
        """As `journeyman upgrade` does: another template at another address, without Terraform."""
        text = Path(self.checkout, "journeyman-0.1.0-stack/template.yaml").read_text(encoding="utf-8")
        text = text.replace(DESCRIPTION, CHANGED)
        boto3.client("s3").put_object(Bucket=BUCKET, Key="behind.yaml", Body=text.encode())
        cloudformation, same = boto3.client("cloudformation"), {"UsePreviousValue": True}
        cloudformation.update_stack(
            StackName=STACK,
            TemplateURL=f"{os.environ['AWS_ENDPOINT_URL']}/{BUCKET}/behind.yaml",
            Parameters=[{"ParameterKey": p["ParameterKey"], **same} for p in stack()["Parameters"]],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        cloudformation.get_waiter("stack_update_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
        self.checks.check("the stack is changed behind Terraform", len(changed_functions()) == 1, functions())
        status, said = self.plan()
        self.checks.check("Terraform does not notice, as the page says", status == 0, said)
        boto3.client("s3").delete_object(Bucket=BUCKET, Key="behind.yaml")

    def outputs(self):
        environment = self.reader.environment()
        command = ["terraform", f"-chdir={environment['EXAMPLE']}", "output", "-json"]
        done = subprocess.run(command, cwd=self.checkout, env=environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    def kinds(self):
        """Types of the resources in Terraform's state."""
        environment = self.reader.environment()
        command = ["terraform", f"-chdir={environment['EXAMPLE']}", "state", "list"]
        done = subprocess.run(command, cwd=self.checkout, env=environment, capture_output=True, text=True, check=True)
        resources = [line.removeprefix("module.journeyman.") for line in done.stdout.splitlines()]
        return {name.partition(".")[0] for name in resources if not name.startswith("data.")}

    def apply_with(self, arguments):
        """The example with more arguments of the module."""
        override = Path(self.checkout, EXAMPLES[0], "override.tf")
        override.write_text(f'module "journeyman" {{\n{arguments}\n}}\n', encoding="utf-8")
        self.type(f"applied with {arguments or 'its own arguments'}", terraform_lines(commands(PAGE, UPGRADE)[1]))

    def check_claims(self, claims):
        """Those that need no cluster."""
        terraform_claims.check_roles(claims, STACK)
        terraform_claims.check_queue(claims, self.outputs())
        terraform_claims.check_spot_role(claims)
        terraform_claims.check_network(claims, self.kinds())

    def destroy(self):
        tables = boto3.client("dynamodb").list_tables()["TableNames"]
        self.type("the last command removes it", destroy())
        templates = [key for key in keys() if key.startswith("journeyman/")]
        left = (functions(), discovery_tags(), templates)
        self.checks.check("no function, tag or file is left", not any(left), left)
        here = boto3.client("dynamodb").list_tables()["TableNames"]
        self.checks.check("the table outlives the stack, as the page says", here == tables != [], here)

    def from_checkout(self):
        self.type("a new configuration", "unset TF_VAR_release_dir\n")
        self.sections(CHECKOUT, STEPS[1])
        status, said = self.plan()
        self.checks.check("without a change Terraform plans none", status == 0, said)
        packaged = Path(self.checkout, "packaged.yaml")
        text = packaged.read_text(encoding="utf-8")
        packaged.write_text(text.replace(DESCRIPTION, CHANGED), encoding="utf-8")
        self.sections(STEPS[1])
        self.checks.check("another template changes a function", len(changed_functions()) == 1, functions())


def run(checks):
    checkout = os.environ["LIVE_CHECKOUT"]
    missing = missing_functions(Path(checkout, "target", "lambda"))
    if not checks.check("all functions are built", not missing, f"no bootstrap for {', '.join(missing)}"):
        return
    subnets = make_account()
    make_release(checkout, "0.1.0")
    make_release(checkout, "0.2.0", with_another_wake)
    work = os.environ["LIVE_WORK"]
    reader = Reader(work, {**os.environ, **prepare(checkout), "KUBECONFIG": f"{work}/kubeconfig", "AWS_PAGER": ""})
    visit = Visit(checks, reader, checkout)
    try:
        visit.type("the reader is in the checkout", f"cd {checkout}\n")
        visit.sections(*STEPS[:2])
        visit.check_first_block()
        claims = terraform_claims.Claims(checks, CLUSTER, terraform_claims.ACCOUNT)
        visit.check_applied(subnets, claims)
        visit.check_claims(claims)
        *_, role = commands(PAGE, STEPS[2])[0].splitlines()
        visit.type("the role for nodes is shown", f"{role}\n")
        shown = reader.environment().get("NODE_ROLE_NAME")
        roles = {r["RoleName"] for r in boto3.client("iam").list_roles()["Roles"]}
        checks.check("it is a role", shown in roles, shown)
        visit.change_release("0.2.0")
        visit.change_release("0.1.0")
        visit.fail()
        visit.change_behind()
        terraform_claims.check_settings(claims, visit.apply_with)
        checks.check("Terraform's next change undoes it, as the page says", not changed_functions(), changed_functions())
        visit.destroy()
        make_cluster("CONFIG_MAP", subnets)
        visit.from_checkout()
        terraform_claims.check_aws_auth(claims, visit.outputs())
        claims.close()
        visit.destroy()
    finally:
        reader.leave()


if __name__ == "__main__":
    sys.exit(Checks.of(run))
