"""Plays specs of Karpenter's end-to-end suites, each worker on a cluster of `journeyman local` of its own.

    play.py list                  prints the suite and the text of each spec
    play.py play WORDS…           plays the specs whose suite and text contain one of WORDS; `quick`: those of quick.txt

Environment: JOURNEYMAN and CONTROL_PLANE are programs, SUITES is the directory of the compiled suites, LIVE_WORK is for
clusters and logs, JOURNEYMAN_E2E_WORKERS (2) is how many clusters play at once, JOURNEYMAN_E2E_RESULTS a directory
that keeps logs of specs that fail. A spec that docs/compatibility.md has a row for is in differs.txt and may fail.
"""

import contextlib
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = Path(os.environ["SUITES"])
WORK = Path(os.environ["LIVE_WORK"])
NAMES = ["regression", "disruption"]
CLUSTER = "e2e"
# As many as the AWS provider's own run opens, so that no spec is left out for a gate.
GATES = [
    "SpotToSpotConsolidation",
    "NodeRepair",
    "ReservedCapacity",
    "NodeOverlay",
    "StaticCapacity",
    "CapacityBuffer",
    "TerminateFirstDrift",
    "TerminateFirstRepair",
    "RebootForRepair",
]
# A schedule is no time that a spec measures: it is as short as `local` allows, so that a run takes less time.
LOCAL = ["--cluster-name", CLUSTER, "--schedule", "1s", "--boot", "5s"]
FLAGS = [
    f"--default-nodeclass={HERE / 'nodeclass.yaml'}",
    "--repair-condition=AcceleratedHardwareReady=False/NvidiaXID79Error",
    "--reboot-condition=AcceleratedHardwareReady=False/NvidiaXID46Error",
]
# Specs that count nodes of two CPUs, which the suites ask for only where the nodes are KWOK's.
SMALL = "CapacityBuffer "
POOL, SMALL_POOL = HERE / "nodepool.yaml", WORK / "nodepool-small.yaml"
# The requirements are what the file ends with.
TWO_CPUS = '        - { key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"] }\n'
# Specs that start a controller manager, whose metrics take a port of the machine: one at a time.
MANAGED = "Chaos "
ONE_MANAGER = threading.Lock()
# What a suite takes to start and to end beside its spec.
MARGIN_SECONDS = 60
# The longest spec waits 35 minutes for two reboots and a replacement.
LIMIT_SECONDS = int(os.environ.get("JOURNEYMAN_E2E_SECONDS", "2400"))
# What the logs of a failed spec are joined by.
KINDS = ["nodes", "nodeclaims", "nodepools", "ec2nodeclasses", "pods", "events"]


def rows_of(name):
    """The fields of each line of a file beside this one, by tabulators."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def flags(text):
    """The flags of the suite for the spec with this text."""
    return [*FLAGS, f"--default-nodepool={SMALL_POOL if text.startswith(SMALL) else POOL}"]


def specs_in(report):
    for suite in json.loads(report.read_text(encoding="utf-8")):
        for spec in suite["SpecReports"] or []:
            texts = [*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]]
            yield spec, " ".join(texts)


def all_specs():
    """Suite and text of each spec, in the same order each time."""
    for suite in NAMES:
        report = WORK / f"{suite}.json"
        command = [SUITES / f"{suite}.test", "--ginkgo.dry-run", "--ginkgo.seed=1", *flags("")]
        command.append(f"--ginkgo.json-report={report}")
        subprocess.run(command, cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for spec, text in specs_in(report):
            if spec["LeafNodeType"] == "It":
                yield suite, text


def chosen(words):
    known = list(all_specs())
    wanted = []
    for word in words:
        if word == "quick":
            found = rows_of("quick.txt")
            missing = set(found) - set(known)
            if missing:
                raise SystemExit(f"quick.txt: no spec is called {sorted(missing)}")
        else:
            found = [spec for spec in known if word in " ".join(spec)]
        if not found:
            raise SystemExit(f"no spec is called {word!r}: play.py list prints all")
        wanted += [spec for spec in found if spec not in wanted]
    return wanted


class Cluster:
    """A cluster of `journeyman local`."""

    def __init__(self, number):
        self.data = WORK / f"cluster-{number}"
        self.output = WORK / f"cluster-{number}.log"
        self.process = None

    def start(self):
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)
        gates = ",".join(f"{gate}=true" for gate in GATES)
        command = [os.environ["JOURNEYMAN"], "local", "--data", self.data, *LOCAL]
        command += ["--control-plane", os.environ["CONTROL_PLANE"], "--set", f"FeatureGates={gates}"]
        with self.output.open("w", encoding="utf-8") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        for _ in range(600):
            if "Ready after" in self.output.read_text(encoding="utf-8"):
                break
            if self.process.poll() is not None:
                raise RuntimeError(self.output.read_text(encoding="utf-8"))
            time.sleep(0.2)
        else:
            raise RuntimeError(f"{self.data} is not ready within two minutes")
        self.environment = dict(os.environ, KUBECONFIG=str(self.data / "kubeconfig"), GIT_REF="none")
        apply = ["kubectl", "apply", "--filename", HERE / "installation.yaml"]
        subprocess.run(apply, env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def sizes(self):
        return {log: log.stat().st_size for log in (self.data / "logs").iterdir()}

    def keep(self, directory, sizes):
        """What the functions said since `sizes`, and what is in the cluster."""
        directory.mkdir(parents=True, exist_ok=True)
        for log in (self.data / "logs").iterdir():
            with log.open("rb") as said:
                said.seek(sizes.get(log, 0))
                (directory / log.name).write_bytes(said.read())
        for kind in KINDS:
            with (directory / f"{kind}.yaml").open("wb") as file:
                command = ["kubectl", "get", kind, "--all-namespaces", "--output", "yaml"]
                subprocess.run(command, env=self.environment, stdout=file, stderr=subprocess.STDOUT, check=False)


def outcome_of(report, began, code):
    """The state, the seconds and the message of the one spec that was played, whose process ended with `code`."""
    if not report.exists():
        why = "it did not end in time" if code == -signal.SIGKILL else f"it ended without a report, with exit code {code}"
        return "killed", time.monotonic() - began, why
    state, seconds, message = "missing", 0.0, ""
    for spec, _ in specs_in(report):
        failure = spec.get("Failure", {})
        said = failure.get("Message", "")
        # Specs that the focus leaves out are skipped without a message.
        if spec["State"] == "skipped" and not said:
            continue
        if spec["LeafNodeType"] == "It" or spec["State"] not in ("passed", "skipped", "pending"):
            at = failure.get("Location", {})
            where = f"{Path(at['FileName']).name}:{at['LineNumber']} " if at.get("FileName") else ""
            state, seconds, message = spec["State"], spec["RunTime"] / 1e9, where + said
            if state not in ("passed", "skipped"):
                break
    return state, seconds, message


def play(cluster, suite, text):
    name = re.sub(r"\W+", "-", text)[:80] + "-" + hashlib.sha256(text.encode()).hexdigest()[:6]
    report, log = WORK / f"{suite}-{name}.json", WORK / f"{suite}-{name}.log"
    report.unlink(missing_ok=True)
    sizes = cluster.sizes()
    # Ginkgo compares with the text of the suite, of the containers and of the spec, joined by spaces.
    focus = f" {re.escape(text)}$".replace(r"\ ", " ").replace(r"\-", "-")
    command = [SUITES / f"{suite}.test", "-test.timeout=2h", "--ginkgo.v", "--ginkgo.no-color"]
    command += [f"--ginkgo.focus={focus}", f"--ginkgo.json-report={report}", f"--ginkgo.timeout={LIMIT_SECONDS}s"]
    alone = ONE_MANAGER if text.startswith(MANAGED) else contextlib.nullcontext()
    with alone, log.open("w", encoding="utf-8") as said:
        began = time.monotonic()
        process = subprocess.Popen(
            [*command, *flags(text)], cwd=WORK, env=cluster.environment, stdout=said, stderr=subprocess.STDOUT
        )
        try:
            process.wait(LIMIT_SECONDS + MARGIN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    state, seconds, message = outcome_of(report, began, process.returncode)
    kept = os.environ.get("JOURNEYMAN_E2E_RESULTS")
    if kept and state not in ("passed", "skipped"):
        cluster.keep(Path(kept) / f"{suite}-{name}", sizes)
        shutil.copy(log, Path(kept) / f"{suite}-{name}")
    return state, seconds, message


class Results:
    """What each spec came to: one line as it ends, and a table at the end."""

    def __init__(self):
        self.differs = {(suite, text): subject for suite, text, subject in rows_of("differs.txt")}
        self.rows = []
        self.lock = threading.Lock()

    def is_on_purpose(self, suite, text):
        return (suite, text) in self.differs

    def add(self, suite, text, state, seconds, message):
        subject = self.differs.get((suite, text))
        if state not in ("passed", "skipped") and subject is not None:
            state, message = "differs", f"docs/compatibility.md: {subject}"
        with self.lock:
            self.rows.append((state, seconds, suite, text, message))
            said = "" if state == "passed" else ": " + " ".join(message.split())[:300]
            print(f"{state:<8} {seconds:4.0f} s  {suite} {text}{said}", flush=True)

    def end(self):
        counts = {}
        for state, *_ in self.rows:
            counts[state] = counts.get(state, 0) + 1
        print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
        return 0 if set(counts) <= {"passed", "skipped", "differs"} else 1


def work(number, jobs, results):
    cluster, is_clean = Cluster(number), False
    try:
        while True:
            try:
                suite, text = jobs.get_nowait()
            except queue.Empty:
                return
            # What a spec that failed leaves behind would fail the next one.
            if not is_clean or cluster.process.poll() is not None:
                cluster.start()
            state, seconds, message = play(cluster, suite, text)
            is_clean = state in ("passed", "skipped")
            if not is_clean and not results.is_on_purpose(suite, text) and os.environ.get("JOURNEYMAN_E2E_AGAIN"):
                # The specs count in real time: a machine that was busy with something else is no fault of a change.
                print(f"again    {seconds:4.0f} s  {suite} {text}: " + " ".join(message.split())[:300], flush=True)
                cluster.start()
                state, seconds, message = play(cluster, suite, text)
                is_clean = state in ("passed", "skipped")
            results.add(suite, text, state, seconds, message)
    finally:
        cluster.stop()


def main(arguments):
    SMALL_POOL.write_text(POOL.read_text(encoding="utf-8") + TWO_CPUS, encoding="utf-8")
    if arguments == ["list"]:
        for suite, text in all_specs():
            print(f"{suite}\t{text}")
        return 0
    if len(arguments) < 2 or arguments[0] != "play":
        print(__doc__, file=sys.stderr)
        return 2
    jobs = queue.Queue()
    for spec in chosen(arguments[1:]):
        jobs.put(spec)
    results = Results()
    count = min(int(os.environ.get("JOURNEYMAN_E2E_WORKERS", "2")), jobs.qsize())
    workers = [threading.Thread(target=work, args=(number, jobs, results)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if not jobs.empty():
        print(f"{jobs.qsize()} specs were not played")
        return 1
    return results.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
