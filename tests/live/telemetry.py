"""The configuration of a collector that docs/metrics.md has, and what the collector made of what functions told.

    telemetry.py configuration OTLP COUNTED PRESENT    prints it, for these ports of loopback
    telemetry.py check LOG COUNTED PRESENT             looks at the log and at both pages for Prometheus

What was told is in `shared/bootstrap/src/teller/tests.rs`.
"""

import re
import sys
import urllib.request
from collections import Counter
from pathlib import Path

from checks import REPOSITORY, Checks

PAGE = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
# Calls of each function, and the number of the last of them.
CALLS, LAST = {"settle": 4, "drain": 1}, {"settle": 4, "drain": 5}
COUNTED_EACH, OBSERVED_EACH = 2, (1, 1_000, 3_024_000)
VALUES = {
    "nodepool": "general",
    "resource_type": "cpu",
    "zone": "us-west-2a",
    "arch": "arm64",
    "capacity_type": "spot",
}
SECOND = ("karpenter_nodes_drained_total", "other")
# What every series has beside its own labels.
OF_ALL = {"cluster": "demo", "job": "journeyman"}
OF_SOME = {"faas_name", "le"}
OF_COUNTED = {"k8s_cluster_name", "service_name", "service_version"}
TRACE, PARENT = "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8"


def configuration(otlp, counted, present):
    """That of the page, on loopback, with a log that has all of each call."""
    text = next(block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "receivers:" in block)
    changes = {
        '"0.0.0.0:4318"': f'"127.0.0.1:{otlp}"',
        '"0.0.0.0:9464"': f'"127.0.0.1:{counted}"',
        '"0.0.0.0:9465"': f'"127.0.0.1:{present}"',
        "debug: {}": "debug: {verbosity: detailed}",
    }
    for written, wanted in changes.items():
        if text.count(written) != 1:
            raise SystemExit(f"docs/metrics.md has {written} {text.count(written)} times in its configuration")
        text = text.replace(written, wanted)
    return text


def measured():
    """Kind and labels by name, as the page has them."""
    rows = re.findall(r"^\| \**`(karpenter_\w+)`\** \| (\w+) \| (.*?) \| ", PAGE, re.MULTILINE)
    return {name: (kind, re.findall(r"`(\w+)`", labels)) for name, kind, labels in rows}


class Exposed:
    """A page for Prometheus: the kinds of its metrics, and the values of their series."""

    def __init__(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        self.kinds = dict(line.split()[2:4] for line in lines if line.startswith("# TYPE "))
        self.series = [self.one(line) for line in lines if not line.startswith("#")]
        self.names = {name for name in self.kinds if name != "target_info"}

    @staticmethod
    def one(line):
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
        return name, dict(re.findall(r'(\w+)="([^"]*)"', labels or "")), float(value)

    def of(self, name, **wanted):
        found = [(labels, value) for known, labels, value in self.series if known == name]
        return [(labels, value) for labels, value in found if wanted.items() <= labels.items()]


def of_histogram(page, name, wanted, calls):
    """What is wrong with the buckets, the count and the sum."""
    buckets = {labels["le"]: value for labels, value in page.of(f"{name}_bucket", **wanted)}
    limit = lambda bound: float(bound.replace("+Inf", "inf"))  # noqa: E731
    expected = {le: calls * sum(seconds <= limit(le) for seconds in OBSERVED_EACH) for le in buckets}
    if buckets != expected or "+Inf" not in buckets or len(set(buckets.values())) < 3:
        yield buckets
    for suffix, value in (("count", calls * len(OBSERVED_EACH)), ("sum", calls * sum(OBSERVED_EACH))):
        found = [value for _, value in page.of(f"{name}_{suffix}", **wanted)]
        if found != [value]:
            yield suffix, found


def check_metric(checks, page, name, kind, labels):
    wrong = [] if page.kinds.get(name) == kind else [page.kinds.get(name, "not there")]
    named = {label: VALUES.get(label, label) for label in labels}
    for function, calls in CALLS.items():
        wanted = {**named, **OF_ALL, "faas_name": function}
        if kind == "histogram":
            wrong += of_histogram(page, name, wanted, calls)
            continue
        value = calls * COUNTED_EACH if kind == "counter" else LAST[function]
        found = [value for _, value in page.of(name, **wanted)]
        if found != [value]:
            wrong.append((function, found, f"{value} is right"))
    ours = [series for found, series, _ in page.series if found == name or found.startswith(f"{name}_")]
    known = named.keys() | OF_ALL.keys() | OF_SOME | (set() if kind == "gauge" else OF_COUNTED)
    wrong += [extra for series in ours if (extra := series.keys() - known)]
    checks.check(f"{name} is a {kind} by {', '.join(labels) or 'no label'}", not wrong, wrong)


def check_calls(checks, log):
    found = re.findall(
        r"Trace ID +: (\w+)\s+Parent ID +: (\w*)\s+ID +: (\w{16})\s+Name +: (\w+)\s+Kind +: (\w+)"
        r".*?Status code +: (\w+)",
        log,
        re.DOTALL,
    )
    # The first was told of twice: once to see whether anything is taken.
    expected = Counter({**CALLS, "settle": CALLS["settle"] + 1})
    checks.check("each call is a span", Counter(span[3] for span in found) == expected, found)
    below = {span[:2] for span in found}
    checks.check("spans are below what Lambda says", below == {(TRACE, PARENT)}, below)
    states = Counter(span[5] for span in found)
    checks.check("the call that failed says so", states == {"Ok": expected.total() - 1, "Error": 1}, states)


def check(log, counted, present):
    def run(checks):
        pages = {"counter": Exposed(counted), "gauge": Exposed(present)}
        pages["histogram"] = pages["counter"]
        metrics = measured()
        for name, (kind, labels) in metrics.items():
            check_metric(checks, pages[kind], name, kind, labels)
        known = {kind: {name for name in metrics if pages[metrics[name][0]] is pages[kind]} for kind in pages}
        for kind in ("counter", "gauge"):
            found = pages[kind].names ^ known[kind]
            checks.check(f"the page with each {kind} has nothing else", not found, found)
        name, pool = SECOND
        found = sorted(value for _, value in pages["counter"].of(name, nodepool=pool))
        checks.check("two NodePools in one request are told apart", found == sorted(CALLS.values()), found)
        text = Path(log).read_text(encoding="utf-8")
        check_calls(checks, text)
        said = [line for line in text.splitlines() if re.search(r"\t(WARN|ERROR|FATAL)\t", line)]
        checks.check("the collector complains of nothing", not said, said)

    return Checks.of(run)


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    if command == "configuration":
        print(configuration(*words), end="")
    else:
        sys.exit(check(*words))
