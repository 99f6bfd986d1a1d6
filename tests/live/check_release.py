"""What tools/release makes of built programs: archives whose bytes depend on nothing but their content, and a template
that CloudFormation accepts for both architectures. Nothing is built: the programs are texts.
"""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import types
import zipfile
from pathlib import Path

import yaml

import template_links
from checks import FUNCTIONS, REPOSITORY, Checks
from release_files import tool as release

SECONDS = 1_700_000_001
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def refuses(act):
    """Whether `act` ends with a sentence about what is wrong."""
    try:
        act()
    except SystemExit as why:
        return isinstance(why.code, str)
    return False


def make_zips(folder):
    folder.mkdir()
    return [
        release.write_function(folder, name, architecture, f"{name} {architecture}".encode(), SECONDS)
        for name in FUNCTIONS
        for architecture in release.ARCHITECTURES
    ]


def check_archives(checks, work):
    zips = make_zips(work / "functions")
    again = [path.read_bytes() for path in zips] == [path.read_bytes() for path in make_zips(work / "again")]
    checks.check("zips of one content have the same bytes", again)
    (entry,) = zipfile.ZipFile(zips[0]).infolist()
    content = zipfile.ZipFile(zips[0]).read("bootstrap")
    checks.check("another program reads what was zipped", content == f"{FUNCTIONS[0]} x86_64".encode(), content)
    checks.check("a zip has the time of the commit", entry.date_time == (2023, 11, 14, 22, 13, 20), entry.date_time)
    mode = entry.external_attr >> 16
    checks.check("a zip has the program, executable", (entry.filename, mode) == ("bootstrap", 0o100755), (entry, mode))
    older = release.write_function(work / "again", FUNCTIONS[0], "arm64", b"older", SECONDS)
    newer = release.write_function(work / "again", FUNCTIONS[0], "arm64", b"newer", SECONDS)
    checks.check("a zip takes the place of an older one", newer.exists() and not older.exists())
    tars = []
    for place in ("one", "two"):
        folder = work / place / "journeyman"
        (folder / "man").mkdir(parents=True)
        for file in ("b", "a", "man/c")[:: 1 if place == "one" else -1]:
            (folder / file).write_text(file, encoding="utf-8")
            os.utime(folder / file, (len(tars), len(tars)))
        (folder / "a").chmod(0o700)
        release.write_tar(work / f"{place}.tar.gz", folder, SECONDS)
        tars.append((work / f"{place}.tar.gz").read_bytes())
    checks.check("archives of one content have the same bytes", tars[0] == tars[1])
    return zips


def key_of(template, function, is_arm):
    """The key of the zip of `function`, without the prefix."""
    name = f"{function.capitalize()}Function"
    choice = template["Resources"][name]["Properties"]["CodeUri"]["Key"]["Fn::If"]
    assert choice[0] == "RunsOnArm"
    return choice[1 if is_arm else 2]["Fn::Sub"].removeprefix("${ArtifactPrefix}")


def check_template(checks, work, zips):
    text = (REPOSITORY / "template.yaml").read_text(encoding="utf-8")
    packaged = release.packaged(text, zips, "1.2.3", COMMIT)
    file = work / "template.yaml"
    file.write_text(packaged, encoding="utf-8")
    command = ["sam", "validate", "--lint", "--region", "us-east-1", "--template-file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    checks.check("sam accepts the packaged template", done.returncode == 0, done.stdout + done.stderr)
    template = yaml.load(packaged, template_links.Loader)
    for is_arm, architecture in ((True, "arm64"), (False, "x86_64")):
        keys = {key_of(template, function, is_arm) for function in FUNCTIONS}
        expected = {path.name for path in zips if f"-{architecture}-" in path.name}
        checks.check(f"functions on {architecture} have its zips", keys == expected, keys ^ expected)
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    named = variables.get("JOURNEYMAN_RELEASE")
    checks.check("functions have the name of the release", named == "1.2.3 (0123456789ab)", named)
    checks.check("a missing zip is named", refuses(lambda: release.packaged(text, zips[1:], "1.2.3", COMMIT)))
    changed = text.replace("\nConditions:\n", "\nConditions: {}\nX:\n")
    checks.check("another form of the template is an error", refuses(lambda: release.packaged(changed, zips, "1.2.3", COMMIT)))


def check_stack(checks, work):
    """The archive that people get: template, zips, and the module of Terraform without what belongs to tests."""
    out = work / "out"
    out.mkdir()
    zips = make_zips(out / "functions")
    one = fake("1.2.3", [])
    one.root = REPOSITORY
    release.write_stack(one, out)
    with tarfile.open(out / "journeyman-1.2.3-stack.tar") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    module = {f"terraform/{path.name}" for path in (REPOSITORY / "deploy/terraform").glob("*.tf")}
    module.add("terraform/examples/existing-cluster/main.tf")
    expected = {"template.yaml", *(path.name for path in zips), *module}
    checks.check("the archive of the stack has template, zips and module", expected <= names, expected - names)
    others = {name for name in names - expected if name not in ("", "terraform", "terraform/examples", "terraform/examples/existing-cluster")}
    checks.check("it has nothing else", not others, others)


def fake(version, tags):
    return types.SimpleNamespace(version=version, tags=tags, commit=COMMIT, seconds=SECONDS)


def check_versions(checks):
    check = release.Release.check
    for version, tags, is_fine in (
        ("1.2.3", ["v1.2.3"], True),
        ("1.2.3-rc.1", [], True),
        ("1.2", [], False),
        ("1.2.03", [], False),
        ("1.2.3", ["v1.2.4"], False),
    ):
        checks.check(f"version {version} with tags {tags}: {'fine' if is_fine else 'refused'}", refuses(lambda: check(fake(version, tags))) != is_fine)


def check_changelog(checks, work):
    root = work / "repository"
    git = lambda *words: subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)
    root.mkdir()
    git("init", "--quiet")
    git("config", "user.name", "n")
    git("config", "user.email", "n@example.com")
    commit = lambda subject: git("commit", "--quiet", "--allow-empty", "-m", subject)
    commit("planner: old")
    first = fake("1.0.0", [])
    first.root = root
    checks.check("the first release has no list", "The first release." in release.changelog(first))
    git("tag", "v1.0.0")
    for subject in ("planner: count pods", "cli: print more", "Update: everything else", "planner: pack"):
        commit(subject)
    git("tag", "v1.1.0")
    second = fake("1.1.0", ["v1.1.0"])
    second.root = root
    text = release.changelog(second)
    _, _, listed = text.partition("Changes since v1.0.0.\n")
    expected = "\n## Update\n\n* everything else\n\n## cli\n\n* print more\n\n## planner\n\n* count pods\n* pack\n"
    checks.check("changes since the tag before stand by topic", listed == expected, text)


def check_bill(checks):
    metadata = subprocess.run(release.METADATA, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    one = fake("1.2.3", [])
    one.root, one.metadata = REPOSITORY, json.loads(metadata)
    bill = release.bill_of_materials(one)
    names = {component["name"] for component in bill["components"]}
    checks.check("the bill has what is shipped", {"planner", "serde", "kube", "aws-sdk-ec2"} <= names, names)
    checks.check("the bill has nothing of the tests", not names & {"proptest", "testkit", "tests"}, names)
    bare = [c["name"] for c in bill["components"] if "purl" in c and not ("hashes" in c and "licenses" in c)]
    checks.check("each crate has its checksum and its licence", not bare, bare)
    references = {c["bom-ref"] for c in bill["components"]} | {"journeyman"}
    named = {r for d in bill["dependencies"] for r in [d["ref"], *d["dependsOn"]]}
    checks.check("dependencies are components", named == references, named ^ references)


def run(checks):
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        zips = check_archives(checks, work)
        check_template(checks, work, zips)
        check_stack(checks, work)
        check_versions(checks)
        check_changelog(checks, work)
        check_bill(checks)


if __name__ == "__main__":
    raise SystemExit(Checks.of(run))
