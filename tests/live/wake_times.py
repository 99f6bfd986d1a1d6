"""How soon the functions act on what happens in the cluster of the current kubeconfig, where the API server calls
`wake`. The cluster is one of `journeyman local` with the EC2NodeClass `default`.

    wake_times.py [ROUNDS [BUSY]]

On a machine that does nothing else: BUSY is how many times as long everything may take, 1 by default. A pending pod is
nominated, which is when its NodeClaim is in the ledger, and has its NodeClaim object within the batch window of a second
and half a second more, before EC2 answers. A Node or NodeClaim that is deleted has its node tainted within three seconds.
"""

import sys
import time

from api_server import ApiServer
from checks import Checks, wait_for

NAME = "wake-times"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
NODES = "/api/v1/nodes"
NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
OF_POOL = f"?labelSelector=karpenter.sh/nodepool%3D{NAME}"
TAINT = "karpenter.sh/disrupted"
# With a value of its own for each pod: no other pod's node fits it.
ROUND = "example.com/round"
# Between two looks.
PAUSE = 0.02
PATIENCE = 120

POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": NAME},
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "taints": [{"key": f"example.com/{NAME}", "effect": "NoSchedule"}],
                "requirements": [
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                    {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["xlarge"]},
                    {"key": ROUND, "operator": "Exists"},
                ],
            }
        },
        "disruption": {"consolidateAfter": "Never"},
    },
}


def pod(number):
    """Each fills a node, and fits on no other pod's."""
    return {
        "metadata": {"name": f"{NAME}-{number}"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"karpenter.sh/nodepool": NAME, ROUND: str(number)},
            "tolerations": [{"key": f"example.com/{NAME}", "operator": "Exists"}],
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "3"}}}],
        },
    }


class Times:
    def __init__(self, server, checks):
        self.server, self.checks = server, checks
        self.busy = float(sys.argv[2]) if len(sys.argv) > 2 else 1

    def ask(self, method, path, body=None):
        code, answer = self.server.ask(method, path, body)
        if code >= 300:
            raise RuntimeError(f"{method} {path}: {code} {answer.get('message')}")
        return answer

    def items(self, path):
        return self.ask("GET", path + OF_POOL)["items"]

    def took(self, what, limit, act, happened):
        """Does `act` and waits until `happened`. Returns when it began."""
        began = time.monotonic()
        act()
        self.since(began, what, limit, happened)
        return began

    def since(self, began, what, limit, happened):
        while not happened() and time.monotonic() - began < PATIENCE:
            time.sleep(PAUSE)
        seconds = time.monotonic() - began
        limit *= self.busy
        self.checks.check(f"{what}: {seconds:.2f} s", seconds <= limit, f"the limit is {limit} s")

    def is_nominated(self, uid):
        selector = f"?fieldSelector=reason%3DNominated%2CinvolvedObject.uid%3D{uid[0]}"
        return bool(self.ask("GET", EVENTS + selector)["items"])

    def pods(self, rounds):
        """Each round begins at another part of a second: the batch window counts from the time of the pod's condition,
        which has whole seconds."""
        for number in range(rounds):
            uid = []
            time.sleep((number / rounds - time.time()) % 1)
            began = self.took(
                "pending pod → nominated",
                1.5,
                lambda number=number, uid=uid: uid.append(self.ask("POST", PODS, pod(number))["metadata"]["uid"]),
                lambda uid=uid: self.is_nominated(uid),
            )
            self.since(
                began,
                "pending pod → NodeClaim",
                1.5,
                lambda number=number: len(self.items(NODE_CLAIMS)) > number,
            )
            time.sleep(3)

    def is_tainted(self, node):
        code, found = self.server.ask("GET", f"{NODES}/{node}")
        return code == 404 or any(taint["key"] == TAINT for taint in found["spec"].get("taints", []))

    def deletions(self, rounds):
        for number in range(rounds):
            claims = [claim for claim in self.items(NODE_CLAIMS) if "deletionTimestamp" not in claim["metadata"]]
            by_claim = number % 2 == 0
            claim = claims[0]
            node = claim["status"]["nodeName"]
            path = f"{NODE_CLAIMS}/{claim['metadata']['name']}" if by_claim else f"{NODES}/{node}"
            self.took(
                f"deleted {'NodeClaim' if by_claim else 'Node'} → taint",
                3,
                lambda path=path: self.ask("DELETE", path),
                lambda node=node: self.is_tainted(node),
            )
            time.sleep(3)

    def is_initialized(self, count):
        claims = self.items(NODE_CLAIMS)
        done = [
            claim
            for claim in claims
            for condition in claim.get("status", {}).get("conditions", [])
            if condition["type"] == "Initialized" and condition["status"] == "True"
        ]
        return len(done) >= count

    def is_ready(self):
        conditions = self.ask("GET", f"{NODE_POOLS}/{NAME}").get("status", {}).get("conditions", [])
        return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def run(checks):
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    times = Times(ApiServer(), checks)
    times.took("new NodePool → ready", 5, lambda: times.ask("POST", NODE_POOLS, POOL), times.is_ready)
    try:
        times.pods(rounds)
        wait_for(lambda: times.is_initialized(rounds), PATIENCE)
        for number in range(rounds):
            times.ask("DELETE", f"{PODS}/{NAME}-{number}")
        times.deletions(rounds)
    finally:
        times.ask("DELETE", f"{NODE_POOLS}/{NAME}")
        wait_for(lambda: not times.items(NODE_CLAIMS), PATIENCE)


if __name__ == "__main__":
    sys.exit(Checks.of(run))
