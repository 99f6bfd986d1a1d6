"""A Kubernetes API server that holds a few objects and refuses every eviction.

It stands in for a cluster where a test is about the AWS side and a function merely has to find a
cluster that answers. It checks nothing and schedules nothing: what the cluster port must do is
tested against a real control plane.
"""

import copy
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


def merge(target, patch):
    """RFC 7386. For objects with one owner, its results equal those of a strategic merge and of server-side
    apply."""
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = value


def status(code, reason, message, **details):
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure" if code >= 400 else "Success",
        "reason": reason,
        "message": message,
        "code": code,
        "details": details,
    }


class ClusterStub:
    """Objects by the path of their collection and then by name; `requests` lists what was asked, in
    order."""

    def __init__(self, objects=None):
        self.objects = {
            path: {o["metadata"]["name"]: o for o in items}
            for path, items in (objects or {}).items()
        }
        self.requests = []
        self.lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with stub.lock:
                    stub.requests.append(f"{self.command} {self.path}")
                    code, value = stub.handle(
                        self.command, self.path, json.loads(body) if body else {}
                    )
                data = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handle(self, method, path, body):
        url = urlsplit(path)
        collection, _, name = url.path.rpartition("/")
        if url.path == "/version":
            return 200, {"major": "1", "minor": "35", "gitVersion": "v1.35.4"}
        if method == "POST" and name == "eviction":
            return 429, status(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                causes=[
                    {
                        "reason": "DisruptionBudget",
                        "message": "The disruption budget stub needs 1 healthy pods.",
                    }
                ],
            )
        if name == "status" and collection.rpartition("/")[0] in self.objects:
            collection, _, name = collection.rpartition("/")
        if method == "POST":
            made = copy.deepcopy(body)
            made.setdefault("metadata", {}).setdefault("name", f"stub-{len(self.requests)}")
            self.objects.setdefault(url.path, {})[made["metadata"]["name"]] = made
            return 201, made
        if method == "GET" and not self.is_object(collection, name):
            return 200, self.listing(url)
        found = self.objects.get(collection, {}).get(name)
        if found is None and method == "PATCH" and body.get("kind"):
            # Server-side apply creates what is not there.
            found = self.objects.setdefault(collection, {}).setdefault(
                name, {"metadata": {"name": name}}
            )
        if found is None:
            return 404, status(404, "NotFound", f'"{name}" not found', name=name)
        if method in ("PATCH", "PUT"):
            merge(found, body)
        if method == "DELETE":
            del self.objects[collection][name]
        return 200, found

    def is_object(self, collection, name):
        """Whether a path names an object: its parent is a plural, and a namespace is no parent of a
        list."""
        parts = collection.strip("/").split("/")
        if parts[-1] == "namespaces":
            return True
        # /api/v1/PLURAL/NAME and /apis/GROUP/VERSION/PLURAL/NAME, or the same below
        # namespaces/NAMESPACE.
        depth = 2 if parts[0] == "api" else 3
        rest = parts[depth:]
        if rest[:1] == ["namespaces"]:
            rest = rest[2:]
        return len(rest) == 1

    def listing(self, url):
        # A list without a namespace spans all of them.
        version, _, plural = url.path.rpartition("/")
        items = [
            item
            for path, named in self.objects.items()
            for item in named.values()
            if path == url.path
            or (path.startswith(f"{version}/namespaces/") and path.endswith(f"/{plural}"))
        ]
        for clause in ",".join(parse_qs(url.query).get("fieldSelector", [])).split(","):
            field, equals, wanted = clause.partition("=")
            if equals and not field.endswith("!"):
                items = [i for i in items if self.field(i, field) == wanted.lstrip("=")]
        for clause in ",".join(parse_qs(url.query).get("labelSelector", [])).split(","):
            label, differs, value = clause.partition("!=")
            if differs:
                items = [i for i in items if i["metadata"].get("labels", {}).get(label) != value]
        query = parse_qs(url.query)
        start, limit = (int(query.get(name, ["0"])[0]) for name in ("continue", "limit"))
        end = start + limit if limit else len(items)
        more = {"continue": str(end)} if end < len(items) else {}
        return {
            "kind": "List",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "1", **more},
            "items": items[start:end],
        }

    @staticmethod
    def field(item, path):
        for part in path.split("."):
            item = item.get(part, {}) if isinstance(item, dict) else {}
        return item if isinstance(item, str) else ""

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
