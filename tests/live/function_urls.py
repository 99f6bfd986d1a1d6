"""The way from an API server to the function URLs of ministack, which answers by HTTP on one port of loopback.

It is a proxy for HTTPS: it has the certificate of every function URL of the region, and passes requests on under the
host that they are for. Other hosts are refused.
"""

import argparse
import http.client
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, ministack, certificate, key):
        super().__init__(("127.0.0.1", port), Handler)
        self.ministack = urlsplit(ministack)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    host = None

    def do_CONNECT(self):
        host = self.path.rpartition(":")[0]
        if ".lambda-url." not in host:
            return self.send_error(403)
        self.send_response(200)
        self.end_headers()
        try:
            self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        except OSError as error:
            # It does not trust the certificate.
            print(f"{host}: {error}", file=sys.stderr, flush=True)
            self.close_connection = True
            return None
        self.host = host
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        return None

    def do_POST(self):
        if self.host is None:
            return self.send_error(400)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(self.server.ministack.hostname, self.server.ministack.port, timeout=60)
        try:
            headers = {"Host": self.host, "Content-Type": self.headers.get("Content-Type", "application/json")}
            connection.request("POST", self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except (OSError, http.client.HTTPException) as error:
            print(f"POST {self.host}: {error}", file=sys.stderr, flush=True)
            self.close_connection = True
        finally:
            connection.close()
        return None

    def finish(self):
        super().finish()
        self.connection.close()

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ministack", required=True)
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    arguments = parser.parse_args()
    proxy = Proxy(arguments.port, arguments.ministack, arguments.certificate, arguments.key)
    print(f"READY http://127.0.0.1:{arguments.port}", flush=True)
    proxy.serve_forever()


if __name__ == "__main__":
    main()
