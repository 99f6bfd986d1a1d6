"""Requests to an API server and the rows of tests/validation, with nothing but Python's library."""

import base64
import json
import ssl
import subprocess
import urllib.error
import urllib.request


def kubectl(*words, given=None, fails=False):
    """Runs kubectl and returns what it prints; its failure is the caller's unless it `fails`."""
    done = subprocess.run(["kubectl", *words], input=given, capture_output=True, text=True)
    if done.returncode != 0 and not fails:
        raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout if not fails else done.stderr


class ApiServer:
    """The API server of the current kubeconfig."""

    PLURALS = {
        "NodePool": "nodepools",
        "NodeClaim": "nodeclaims",
        "NodeOverlay": "nodeoverlays",
        "EC2NodeClass": "ec2nodeclasses",
        "CapacityBuffer": "capacitybuffers",
    }

    def __init__(self):
        config = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url, self.token = cluster["server"], user["token"]
        data = cluster.get("certificate-authority-data")
        authority = base64.b64decode(data).decode() if data else None
        self.context = ssl.create_default_context(
            cafile=None if data else cluster["certificate-authority"], cadata=authority
        )

    def ask(self, method, path, body=None, kind="application/json"):
        """(status code, answer)"""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def path(self, thing, name="", query=""):
        """Where objects of the kind of `thing` are."""
        namespace = thing["metadata"].get("namespace")
        inside = f"/namespaces/{namespace}" if namespace else ""
        plural = self.PLURALS[thing["kind"]]
        last = f"/{name}" if name else ""
        return f"/apis/{thing['apiVersion']}{inside}/{plural}{last}{query}"


def expanded(value):
    """Long lists, maps and texts are written short in the tables."""
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$items" in value:
        return [numbered(value["item"], number) for number in range(value["$items"])]
    if "$keys" in value:
        return {value["key"] % number: value["value"] for number in range(value["$keys"])}
    if "$text" in value:
        return "a" * value["$text"]
    return {key: expanded(inner) for key, inner in value.items()}


def numbered(value, number):
    if isinstance(value, str):
        return value.replace("%d", str(number))
    if isinstance(value, dict):
        return {key: numbered(inner, number) for key, inner in value.items()}
    return value


def changed(thing, changes):
    """`thing` with the values at some pointers; null removes."""
    whole = json.loads(json.dumps(thing))
    for pointer, value in (changes or {}).items():
        *parents, last = pointer.strip("/").split("/")
        at = whole
        for parent in parents:
            at = at.setdefault(parent, {})
        if value is None:
            at.pop(last, None)
        else:
            at[last] = expanded(value)
    return whole


def outcome(server, base, row, name):
    """(accepted, what the server said)"""
    thing = changed(base, row.get("set"))
    thing["metadata"]["name"] = name
    dry = "?fieldValidation=Strict&dryRun=All"
    if "then" not in row:
        code, answer = server.ask("POST", server.path(thing, query=dry), thing)
        return code == 201, answer.get("message", "")
    code, answer = server.ask("POST", server.path(thing), thing)
    if code != 201:
        return None, answer.get("message", "")
    try:
        later = changed(answer, row["then"])
        code, answer = server.ask("PUT", server.path(thing, name, dry), later)
        return code == 200, answer.get("message", "")
    finally:
        server.ask("DELETE", server.path(thing, name))
