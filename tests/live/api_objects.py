"""Our CustomResourceDefinitions on a real API server, beside Karpenter's own.

    api_objects.py EARLIER_CRDS KARPENTERS_CRDS OUR_CRDS

First the definitions of an earlier release of Karpenter's are installed and objects stored, then those of
the release that is matched: every row of tests/validation must hold there too, but for those that name
their difference. kubectl's words about the objects are kept. Then ours are installed over them, and
everything is looked at again.
"""

import json
import re
import sys
import time
from pathlib import Path

from api_server import ApiServer, changed, kubectl, outcome
from checks import REPOSITORY, Checks, wait_for

TABLES = sorted((REPOSITORY / "tests/validation").glob("*.json"))
STORED = json.loads((REPOSITORY / "tests/validation/stored/karpenter.json").read_text("utf-8"))
# What `kubectl explain --recursive` shows differently, and why: docs/compatibility.md.
EXPLAINED = {
    "nodepools": {"nodes\t<string> -required-", "nodes\t<string>"},
}


KUBELET = ["clusterDNS", "cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft",
           "evictionSoftGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent",
           "kubeReserved", "maxPods", "podsPerCore", "systemReserved"]
PROJECTION = REPOSITORY / "shared/api/tests/api/initialized.json"
COLUMNS = ["NAME", "TYPE", "CAPACITY", "ZONE", "NODE", "READY", "AGE", "IMAGEID", "ID", "NODEPOOL", "NODECLASS", "DRIFTED"]


def install(server, directory):
    files = [word for file in sorted(Path(directory).glob("*.yaml")) for word in ("-f", str(file))]
    kubectl("apply", "--server-side", "--force-conflicts", "--warnings-as-errors", *files)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", *files)
    for plural in server.PLURALS.values():
        wait_for(lambda plural=plural: kubectl("api-resources", "-o", "name").count(plural), 30)


def tables(checks, server, whose):
    """Every row of every table; `whose` is the definitions' owner."""
    for file in TABLES:
        table = json.loads(file.read_text("utf-8"))
        base, wrong = table["base"], 0
        for number, row in enumerate(table["rows"]):
            accepts = row.get("accepts", False)
            differs = whose == "karpenter" and "karpenter" in row
            if differs:
                accepts = row["karpenter"].startswith("accepts")
            accepted, said = outcome(server, base, row, f"row-{number}")
            as_said = accepts or differs or row["says"] in said
            if accepted is not accepts or not as_said:
                wrong += 1
                checks.check(f"{whose} {file.stem}: {row['row']}", False,
                             f"accepted: {accepted}, said: {said[:600]}")
        rows = len(table["rows"])
        checks.check(f"{whose} {file.stem}: {rows - wrong} of {rows} rows hold", wrong == 0)


def store(checks, server):
    for thing in STORED:
        status = thing.get("status")
        code, answer = server.ask("POST", server.path(thing), thing)
        name = thing["metadata"]["name"]
        stored = code == 201
        if stored and status:
            answer["status"] = status
            path = server.path(thing, name) + "/status"
            code, answer = server.ask("PUT", path, answer)
            stored = code == 200
        checks.check(f"Karpenter's definitions store {thing['kind']} {name}", stored,
                     answer.get("message", ""))


def printed(server):
    """What kubectl says, without what changes by itself."""
    said = {}
    for plural in server.PLURALS.values():
        for form in ("", "wide"):
            words = ["get", plural, "-A", *(["-o", form] if form else [])]
            said[" ".join(words)] = without_ages(kubectl(*words))
        said[f"describe {plural}"] = re.sub(
            r"(Resource Version|Generation|Time|Operation|Manager|API Version):.*", "",
            kubectl("describe", plural, "-A"))
        said[f"explain {plural}"] = kubectl("explain", plural, "--recursive")
    for name in ("karpenter", "autoscaling", "overlays", "ec2nc", "ec2ncs", "cb"):
        said[f"get {name}"] = without_ages(kubectl("get", name, "-A"))
    return said


def without_ages(text):
    """The same without ages, and without the spaces that follow from their length."""
    return re.sub(r" +", " ", re.sub(r"\b\d+[smh]\w*\b", "AGE", text))


def compare_printed(checks, server, before):
    after = printed(server)
    for words, text in before.items():
        ours, theirs = after[words], text
        if words.startswith("explain"):
            # The sentences are ours; names, types and what is required are Karpenter's.
            ours, theirs = fields_of(ours), fields_of(theirs)
            if words.endswith("ec2nodeclasses"):
                checks.check("kubectl explain lists what decisions know of kubelet",
                             set(KUBELET) <= {line.strip().split("\t")[0] for line in ours}, ours)
                ours = without_kubelet(ours)
                theirs = without_kubelet(theirs)
            known = EXPLAINED.get(words.split()[1], set())
            ours = [line for line in ours if line.strip() not in known]
            theirs = [line for line in theirs if line.strip() not in known]
        checks.check(f"kubectl {words} prints the same", ours == theirs, difference(theirs, ours))


def fields_of(text):
    lines = text.split("FIELDS:")[1].splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def without_kubelet(lines):
    """Karpenter's definition names no member of `kubelet`, which is open; ours names those that count."""
    kept, depth = [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if depth is not None and indent > depth:
            continue
        depth = indent if line.strip().startswith("kubelet\t") else None
        kept.append("kubelet" if depth is not None else line)
    return kept


def difference(theirs, ours):
    one = theirs if isinstance(theirs, list) else theirs.splitlines()
    other = ours if isinstance(ours, list) else ours.splitlines()
    return [line for line in one if line not in other][:6] + [line for line in other if line not in one][:6]


def defaults(checks, server):
    def filled(name):
        table = json.loads((REPOSITORY / f"tests/validation/{name}.json").read_text("utf-8"))
        thing = table["base"]
        return server.ask("POST", server.path(thing, query="?dryRun=All"), thing)[1]["spec"]

    pool = filled("node-pool")
    wanted = {"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized",
              "budgets": [{"nodes": "10%"}]}
    checks.check("a NodePool has the defaults of disruption", pool["disruption"] == wanted, pool)
    expire = pool["template"]["spec"]["expireAfter"]
    checks.check("a NodePool has the default of expireAfter", expire == "720h", expire)
    options = filled("node-class")["metadataOptions"]
    wanted = {"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled",
              "httpPutResponseHopLimit": 1, "httpTokens": "required"}
    checks.check("an EC2NodeClass has the default of metadataOptions", options == wanted, options)
    strategy = filled("capacity-buffer")["provisioningStrategy"]
    checks.check("a CapacityBuffer has the default strategy",
                 strategy == "buffer.x-k8s.io/active-capacity", strategy)


def stored_objects_stay_valid(checks, server):
    for thing in STORED:
        name, kind = thing["metadata"]["name"], thing["kind"]
        path = server.path(thing, name)
        found = server.ask("GET", path)[1]
        before = found["spec"]
        found["metadata"].setdefault("annotations", {})["example.com/touched"] = "yes"
        code, answer = server.ask("PUT", path + "?fieldValidation=Strict", found)
        kept = code == 200 and answer["spec"] == before and answer.get("status") == found.get("status")
        checks.check(f"{kind} {name} of Karpenter's stays valid and whole", kept,
                     answer.get("message", ""))
        code, answer = server.ask("PUT", path + "/status?fieldValidation=Strict", answer)
        checks.check(f"the status of {kind} {name} can be written", code == 200,
                     answer.get("message", ""))


def server_side_apply(checks, server):
    for thing in STORED:
        kind = thing["kind"]
        ours = {key: value for key, value in thing.items() if key != "status"}
        ours = changed(ours, {"/metadata/name": f"applied-{thing['metadata']['name']}"})
        name = ours["metadata"]["name"]

        def apply(what, manager):
            path = server.path(ours, name, f"?fieldManager={manager}&fieldValidation=Strict")
            return server.ask("PATCH", path, what, "application/apply-patch+yaml")

        code, first = apply(ours, "journeyman")
        again = apply(ours, "journeyman")[1]
        same = code in (200, 201) and \
            again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        checks.check(f"{kind}: a second apply changes nothing", same, first.get("message", ""))
        foreign = {key: ours[key] for key in ("apiVersion", "kind")}
        foreign["metadata"] = {"name": name, "labels": {"example.com/foreign": "kept"}}
        has_limits = name == "applied-general"
        if has_limits:
            foreign["spec"] = {"limits": {"example.com/foreign": "7"}}
        code, mixed = apply(foreign, "somebody-else")
        again = apply(ours, "journeyman")[1]
        kept = again.get("metadata", {}).get("labels", {}).get("example.com/foreign") == "kept"
        if has_limits:
            kept = kept and again["spec"]["limits"].get("example.com/foreign") == "7"
        same = again["metadata"]["resourceVersion"] == mixed["metadata"]["resourceVersion"]
        checks.check(f"{kind}: a foreign field survives an apply that changes nothing", kept and same,
                     mixed.get("message", ""))
        server.ask("DELETE", server.path(ours, name))


def projection(checks, server):
    """What our functions apply for a claim (shared/api/src/karpenter/node_claim_patch): it is accepted
    twice, others may add to it, kubectl prints it in Karpenter's columns, and it waits for its
    finalizer."""
    claim = json.loads(PROJECTION.read_text("utf-8"))
    name = claim["metadata"]["name"]
    for owned in ("uid", "generation", "ownerReferences"):
        claim["metadata"].pop(owned)
    status = {key: claim[key] for key in ("apiVersion", "kind")}
    status |= {"metadata": {"name": name}, "status": claim.pop("status")}

    def apply(what, manager="journeyman", part=""):
        path = server.path(claim, name, f"{part}?fieldManager={manager}&force=true&fieldValidation=Strict")
        return server.ask("PATCH", path, what, "application/apply-patch+yaml")

    def both():
        made = apply(claim)
        said = apply(status, part="/status")
        return max(made[0], said[0]), said[1]

    code, first = both()
    checks.check("our NodeClaim is accepted with its status", code in (200, 201), first.get("message"))
    again = both()[1]
    checks.check("applied twice, it does not change",
                 again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"])
    foreign = {key: claim[key] for key in ("apiVersion", "kind")}
    foreign["metadata"] = {"name": name, "labels": {"example.com/foreign": "kept"}}
    code, mixed = apply(foreign, "somebody-else")
    theirs = {**foreign, "status": {"conditions": [
        {"type": "Theirs", "status": "True", "lastTransitionTime": "2026-08-01T12:00:00Z"}]}}
    mixed = apply(theirs, "somebody-else", "/status")[1]
    again = both()[1]
    kinds = [one["type"] for one in again["status"]["conditions"]]
    kept = again["metadata"]["labels"].get("example.com/foreign") == "kept" and "Theirs" in kinds
    checks.check("a foreign label and condition survive",
                 kept and again["metadata"]["resourceVersion"] == mixed["metadata"]["resourceVersion"], again)
    table = [line.split() for line in kubectl("get", "nodeclaims", name, "-o", "wide").splitlines()]
    checks.check("kubectl get nodeclaims prints Karpenter's columns", table[0] == COLUMNS, table[0])
    age = table[0].index("AGE")
    row = table[1][:age] + table[1][age + 1:]
    wanted = [name, "m7g.large", "spot", "us-west-2a", "ip-10-0-0-1.ec2.internal", "True", "ami-1",
              "aws:///us-west-2a/i-0123456789abcdef0", "general", "default"]
    checks.check("and our values in them", row == wanted, row)
    described = kubectl("describe", "nodeclaim", name)
    words = ["Node Name:", "Provider ID:", "Image ID:", "Registered", "Initialized", "1150m"]
    missing = [word for word in words if word not in described]
    checks.check("kubectl describe tells its life", not missing, missing)
    kubectl("delete", "nodeclaim", name, "--wait=false")
    code, left = server.ask("GET", server.path(claim, name))
    checks.check("deleted, it waits for our finalizer",
                 code == 200 and "deletionTimestamp" in left["metadata"], left)
    patch = {"metadata": {"finalizers": []}}
    server.ask("PATCH", server.path(claim, name), patch, "application/merge-patch+json")
    code = server.ask("GET", server.path(claim, name))[0]
    checks.check("and is gone without it", code == 404, code)


def scale(checks, server):
    kubectl("scale", "nodepool", "static", "--replicas=5")
    found = json.loads(kubectl("get", "nodepool", "static", "-o", "json"))
    checks.check("kubectl scale sets replicas", found["spec"]["replicas"] == 5, found["spec"])
    raw = json.loads(kubectl("get", "--raw", "/apis/karpenter.sh/v1/nodepools/static/scale"))
    checks.check("the scale subresource has the pool's nodes",
                 raw["status"]["replicas"] == found["status"]["nodes"], raw)
    said = kubectl("scale", "nodepool", "general", "--replicas=5", fails=True)
    checks.check("a dynamic pool cannot be scaled", "Cannot transition NodePool" in said, said)


def files_are_accepted(checks, server):
    """Every example and every converted manifest of older versions, as a user would apply it."""
    # An apply is merged with what has the same name, also while a finalizer holds that back.
    for kind in ("nodeclaims", "nodepools", "ec2nodeclasses"):
        for name in kubectl("get", kind, "-o", "name").split():
            kubectl("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        kubectl("delete", kind, "--all", "--timeout=30s")
    examples = [path for path in sorted((REPOSITORY / "examples").glob("*/*.yaml"))
                if path.parent.name != "scenarios"]
    converted = sorted((REPOSITORY / "shared/api/tests/convert").glob("*.v1.yaml"))
    for path in examples + converted:
        try:
            said = kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict",
                           "--warnings-as-errors", "-f", str(path))
            checks.check(f"{path.parent.name}/{path.name} is accepted", bool(said))
        except Exception as error:
            checks.check(f"{path.parent.name}/{path.name} is accepted", False, str(error)[-600:])
    checks.check("there are examples and converted manifests",
                 len(examples) >= 15 and len(converted) >= 11)


def wait_until_current(server):
    """The server takes a moment to serve another schema."""
    pool = json.loads((REPOSITORY / "tests/validation/node-pool.json").read_text("utf-8"))["base"]
    since = {"set": {"/spec/disruption": {}}}
    wait_for(lambda: outcome(server, pool, since, "since")[0], 30)
    time.sleep(1)


def open_kubelet_is_kept(checks, server):
    """What an open schema stored stays whole under ours: nothing of `kubelet` is dropped or changed."""
    table = json.loads((REPOSITORY / "tests/validation/node-class.json").read_text("utf-8"))
    rows = [row for row in table["rows"] if "/spec/kubelet" in row.get("set", {}) and row.get("accepts")]
    for row in rows:
        wanted = row["set"]["/spec/kubelet"]
        thing = changed(table["base"], {"/metadata/name": "open-kubelet", "/spec/kubelet": wanted})
        code, answer = server.ask("POST", server.path(thing, query="?dryRun=All"), thing)
        kept = code == 201 and answer["spec"]["kubelet"] == wanted
        checks.check(f"stored as it was written: {row['row']}", kept, answer)
    checks.check("there are rows about kubelet", len(rows) >= 9)


def main():
    earlier, theirs, ours = sys.argv[1:]
    checks, server = Checks(), ApiServer()
    install(server, earlier)
    store(checks, server)
    install(server, theirs)
    wait_until_current(server)
    tables(checks, server, "karpenter")
    projection(checks, server)
    before = printed(server)
    install(server, ours)
    checks.check("our definitions install over Karpenter's without a warning", True)
    wait_for(lambda: "podsPerCore" in kubectl("explain", "ec2nodeclass.spec.kubelet"), 30)
    wait_until_current(server)
    tables(checks, server, "journeyman")
    compare_printed(checks, server, before)
    defaults(checks, server)
    open_kubelet_is_kept(checks, server)
    stored_objects_stay_valid(checks, server)
    server_side_apply(checks, server)
    projection(checks, server)
    scale(checks, server)
    files_are_accepted(checks, server)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
