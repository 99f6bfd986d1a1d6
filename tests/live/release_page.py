"""The section "From a release" of docs/install.md, and docs/upgrade.md: from the archives of a release to a running stack, to
the next release, and back, on a machine without Rust.

Called by `install_page`. The archives are those that tools/release wrote. The reader downloads them with the printed commands
from the address that stands for that of the project, here a directory.
"""

import os
import re
import time
from pathlib import Path

import release_files
from reader import commands, every_block

INSTALL, UPGRADE = "install.md", "upgrade.md"
SECTION = "From a release"
ACCOUNT = "123456789012"
RUST = ("cargo", "rustc", "rustup", "sam")


def environment(work, path):
    """The reader's, who had `path`: without what a release does not need, and with an empty home."""
    has_rust = lambda folder: any(os.access(os.path.join(folder, name), os.X_OK) for name in RUST)
    # A folder of tools that the reader needs, too, keeps only these.
    kept, tools = [], Path(work, "tools")
    tools.mkdir()
    for folder in path.split(os.pathsep):
        if not has_rust(folder):
            kept.append(folder)
            continue
        for tool in ("aws", "kubectl"):
            if os.access(os.path.join(folder, tool), os.X_OK) and not (tools / tool).exists():
                (tools / tool).symlink_to(os.path.join(folder, tool))
    home = Path(work, "home")
    home.mkdir()
    # The pages' commands change into no directory, and what is downloaded goes to an empty one.
    return {"PATH": os.pathsep.join([*kept, str(tools)]), "HOME": str(home)}


class Files:
    """What tools/release wrote for one release."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        (stack,) = self.folder.glob("journeyman-*-stack.tar")
        self.version = stack.name.removeprefix("journeyman-").removesuffix("-stack.tar")
        (command,) = self.folder.glob(f"journeyman-{self.version}-*.tar.gz")
        self.target = command.name.removeprefix(f"journeyman-{self.version}-").removesuffix(".tar.gz")

    def names(self):
        """What a reader puts in place of the page's first line."""
        return f"VERSION={self.version} TARGET={self.target} URL=file://{self.folder}\n"


def download_and_deploy():
    """The page's commands behind the line with the names: those that download, and the one that deploys."""
    first, *lines = commands(INSTALL, SECTION)[0].splitlines(keepends=True)
    if not re.match(r"VERSION=\S+ TARGET=\S+ URL=https://\S+$", first):
        raise ValueError(f"docs/{INSTALL}, {SECTION}: the first line has no names: {first}")
    *download, deploy = lines
    if not deploy.startswith("journeyman deploy "):
        raise ValueError(f"docs/{INSTALL}, {SECTION}: the last line does not deploy: {deploy}")
    return "".join(download), deploy


def upgrade_and_back():
    """The first commands of docs/upgrade.md."""
    lines = commands(UPGRADE, None)[0].splitlines(keepends=True)
    path, upgrade, back = lines
    return path + upgrade, back


def delete_bucket():
    """The commands of docs/uninstall.md for the bucket of `deploy`, which several clusters may use."""
    (block,) = (block for block in every_block("uninstall.md") if block.startswith("aws s3 rb "))
    return block.replace("ACCOUNT", ACCOUNT, 1)


class Release:
    """The reader's way with one release, and from it to the next one."""

    def __init__(self, visit, former, latest):
        self.visit, self.former, self.latest = visit, former, latest

    def timed(self, what, block):
        began = time.monotonic()
        held = self.visit.reader.type(block)
        print(f"# {what}: {time.monotonic() - began:.1f} s", flush=True)
        return self.visit.checks.check(f"without Rust: {what}", held)

    def get(self, files):
        download, _ = download_and_deploy()
        self.timed(f"download {files.version}", files.names() + download)

    def try_it(self):
        """What needs no account."""
        none = "".join(f"! command -v {name}\n" for name in RUST)
        self.visit.checks.check("there is no Rust and no sam", self.visit.reader.type(none))
        self.get(self.former)
        self.timed("journeyman --version", "journeyman --version\n")
        self.timed("simulate", "journeyman simulate\n")
        self.timed("plan", 'journeyman plan "journeyman-$VERSION-$TARGET/examples/story"\n')

    def deploy(self):
        """Without a NodePool doctor ends with what is missing, and so does deploy."""
        _, deploy = download_and_deploy()
        self.timed("deploy", deploy.replace("\n", " || [ $? = 1 ]\n"))
        self.are_of(self.former)

    def doctor(self):
        self.timed("doctor finds everything in order", 'journeyman doctor "$CLUSTER"\n')

    def upgrade(self):
        if self.latest is None:
            self.visit.leave_out("docs/upgrade.md", "JOURNEYMAN_FORMER_FILES names no release before this one")
            return
        self.get(self.latest)
        upgrade, back = upgrade_and_back()
        self.timed("upgrade", upgrade)
        self.are_of(self.latest)
        self.doctor()
        self.timed("rollback", back)
        self.are_of(self.former)

    def are_of(self, files):
        found = release_files.versions()
        self.visit.checks.check(f"the functions are of release {files.version}", found == {files.version}, found)


def of(visit):
    """The release of this run, and the next one if there are two."""
    latest = Files(os.environ["JOURNEYMAN_RELEASE_FILES"])
    former = os.environ.get("JOURNEYMAN_FORMER_FILES")
    return Release(visit, Files(former), latest) if former else Release(visit, latest, None)
