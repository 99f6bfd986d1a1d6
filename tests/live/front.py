"""Where one account is made of two: ministack for most of it, `aws-server` for what can be launched.

Asked for IAM and EC2. Instance profiles and everything of EC2 are `aws-server`'s, which knows what an instance needs;
roles are ministack's. Neither has tags of subnets and security groups, of which `aws-server` owns one for whatever is
selected: they are kept here, and can be looked at. Whatever is passed on is passed on as it came, signature and all.
Only spot instances are refused, as EC2 does it, while ministack does not have EC2's role for them.
"""

import argparse
import http.client
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import boto3

TAGS_PATH = "/_tags"
EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/"
ANSWER = f'<{{0}}Response xmlns="{EC2}"><return>true</return></{{0}}Response>'
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
NO_SPOT = f"""<CreateFleetResponse xmlns="{EC2}"><fleetId>fleet-00000000000000000</fleetId><errorSet><item><lifecycle>spot</lifecycle>
<errorCode>AuthFailure.ServiceLinkedRoleCreationNotPermitted</errorCode><errorMessage>The provided credentials do not have
permission to create the service-linked role for EC2 Spot Instances.</errorMessage></item></errorSet><fleetInstanceSet/></CreateFleetResponse>"""
TAG = "<item><resourceId>{}</resourceId><key>{}</key><value>{}</value></item>"


def numbered(fields, name):
    """The values of `name.1`, `name.2` and so on."""
    number = 1
    while f"{name}.{number}" in fields:
        yield fields[f"{name}.{number}"]
        number += 1


class Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, ministack, server):
        super().__init__(("127.0.0.1", port), Handler)
        self.ministack, self.server = ministack, server
        self.iam = boto3.client("iam", endpoint_url=ministack)
        self.tags, self.lock = {}, threading.Lock()

    def write_tags(self, action, fields):
        """Whether it is about tags of what neither account has; then they are written."""
        ids = list(numbered(fields, "ResourceId"))
        if action not in ("CreateTags", "DeleteTags") or not all(i.startswith(("subnet-", "sg-")) for i in ids):
            return False
        keys = list(numbered({k.removesuffix(".Key"): v for k, v in fields.items() if k.endswith(".Key")}, "Tag"))
        values = [fields.get(f"Tag.{at + 1}.Value", "") for at in range(len(keys))]
        with self.lock:
            for resource in ids:
                known = self.tags.setdefault(resource, {})
                for key, value in zip(keys, values):
                    if action == "CreateTags":
                        known[key] = value
                    elif value in ("", known.get(key)):
                        known.pop(key, None)
                if not known:
                    del self.tags[resource]
        return True


    def refuses_spot(self, fields):
        """Whether it is a request for spot instances, and no dry run, in an account without the role."""
        is_spot = fields.get("TargetCapacitySpecification.DefaultTargetCapacityType") == "spot"
        if fields.get("Action") != "CreateFleet" or not is_spot or fields.get("DryRun") == "true":
            return False
        try:
            self.iam.get_role(RoleName=SPOT_ROLE)
            return False
        except self.iam.exceptions.NoSuchEntityException:
            return True

    def find_tags(self, fields):
        """The tags of what neither account has, by the filters resource-id and key; `None` if it asks for others."""
        filters = {fields[f"Filter.{n}.Name"]: set(numbered(fields, f"Filter.{n}.Value")) for n in (1, 2) if f"Filter.{n}.Name" in fields}
        ids = filters.get("resource-id", set())
        if fields.get("Action") != "DescribeTags" or not ids or not all(i.startswith(("subnet-", "sg-")) for i in ids):
            return None
        with self.lock:
            found = [(i, k, v) for i in sorted(ids) for k, v in self.tags.get(i, {}).items() if k in filters.get("key", {k})]
        items = "".join(TAG.format(*map(escape, tag)) for tag in found)
        return f'<DescribeTagsResponse xmlns="{EC2}"><tagSet>{items}</tagSet></DescribeTagsResponse>'


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == TAGS_PATH:
            return self.send(200, json.dumps(self.server.tags).encode(), "application/json")
        fields = {key: values[0] for key, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        action = fields.get("Action", "")
        if self.server.write_tags(action, fields):
            return self.send(200, ANSWER.format(action).encode(), "text/xml")
        tags = self.server.find_tags(fields)
        if tags is not None:
            return self.send(200, tags.encode(), "text/xml")
        if self.server.refuses_spot(fields):
            return self.send(200, NO_SPOT.encode(), "text/xml")
        is_launched = fields.get("Version") == "2016-11-15" or "InstanceProfile" in action
        self.pass_on(self.server.server if is_launched else self.server.ministack, body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def pass_on(self, url, body):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            self.send(answer.status, answer.read(), answer.headers.get("Content-Type", "text/xml"))
        except (OSError, http.client.HTTPException) as error:
            # No answer, as where the account gives none.
            print(f"{self.command} {self.path}: {error}", file=sys.stderr, flush=True)
            self.close_connection = True
        finally:
            connection.close()

    def send(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ministack", required=True)
    parser.add_argument("--server", required=True)
    arguments = parser.parse_args()
    front = Front(arguments.port, arguments.ministack, arguments.server)
    print(f"READY http://127.0.0.1:{arguments.port}", flush=True)
    front.serve_forever()


if __name__ == "__main__":
    main()
