"""What a cold start takes, of the functions as built: processor time and memory from exec to the first poll.

A server of ten lines plays the runtime API of Lambda: when a function asks for its first invocation, everything that
it does by itself at the start is done. Nothing else is there, and a function that asked for anything before would fail.
What is measured is processor time, not time that passes, and the least of some starts is taken. Nevertheless it is longer
where other programs share the processor's caches: 3 to 5 ms are usual, and what fails here takes twice as much.
"""

import base64
import os
import ssl
import subprocess
import tempfile
import threading
from pathlib import Path
from http.server import BaseHTTPRequestHandler, HTTPServer

from checks import FUNCTIONS, REPOSITORY, Checks, missing_functions



def certificate():
    """Of an authority that exists for these starts only, in base64."""
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/ca.pem"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null"]
        command = ["openssl", "req", "-x509", *key, "-out", made, "-days", "2", "-subj", "/CN=demo"]
        subprocess.run(command, check=True, capture_output=True)
        return base64.b64encode(Path(made).read_bytes()).decode()


STARTS = 7
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
CPU_MILLISECONDS_MAX = 10.0
MEMORY_MIB_MAX = 32
SETTINGS = {
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_LAMBDA_FUNCTION_VERSION": "1",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
    "JOURNEYMAN_TABLE_NAME": "journeyman",
    "JOURNEYMAN_CLUSTER_NAME": "demo",
    # With these settings the function does not ask EKS, whose answer would come over TLS.
    "JOURNEYMAN_CLUSTER_ENDPOINT": "https://127.0.0.1:6443",
    "JOURNEYMAN_CLUSTER_CA_BUNDLE": certificate(),
    "JOURNEYMAN_LOG_LEVEL": "info",
    "JOURNEYMAN_WAKE_KEY": "0123456789abcdef0123456789abcdef",
    **{
        f"JOURNEYMAN_{queue}_QUEUE_URL": f"https://sqs.us-east-1.amazonaws.com/123456789012/{queue}"
        for queue in ("PROVISION", "DISRUPT", "LAUNCH", "SETTLE", "DRAIN")
    },
}


class Runtime(HTTPServer):
    """Answers no request: the first one shows that the function is ready."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Question)
        self.asked = threading.Event()
        self.path = None


class Question(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        self.server.path = self.path
        self.server.asked.set()
        # The function waits for its invocation until it is ended.
        self.server.done.wait(10)

    def log_message(self, *_):
        pass


def processor_milliseconds(pid):
    """Of all threads, in nanoseconds by the scheduler's own account."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e6


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def start(built, name):
    """Processor milliseconds and MiB of one start, and what was asked first."""
    runtime = Runtime()
    runtime.done = threading.Event()
    threading.Thread(target=runtime.handle_request, daemon=True).start()
    environment = {
        **SETTINGS,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        # Lambda's image has all authorities in one file; here they may be a folder of hundreds.
        "SSL_CERT_FILE": ssl.get_default_verify_paths().cafile or BUNDLE,
        "LANG": "C.UTF-8",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{runtime.server_port}",
    }
    process = subprocess.Popen(
        [str(built / name / "bootstrap")],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        if not runtime.asked.wait(10):
            process.kill()
            said = process.communicate()[0].decode(errors="replace")
            return None, None, f"it asked for nothing: {said[-500:]}"
        return processor_milliseconds(process.pid), peak_mib(process.pid), runtime.path
    finally:
        runtime.done.set()
        process.kill()
        process.wait()
        runtime.server_close()


def run(checks):
    built = REPOSITORY / "target" / "lambda"
    missing = missing_functions(built)
    if not checks.check("all functions are built", not missing, missing):
        return
    # In rounds, so that what slows the machine for a moment meets one start of each function and not all of one.
    rounds = [{name: start(built, name) for name in FUNCTIONS} for _ in range(STARTS)]
    for name in FUNCTIONS:
        starts = [in_round[name] for in_round in rounds]
        asked = {path for _, _, path in starts}
        is_ready = asked == {"/2018-06-01/runtime/invocation/next"}
        if not checks.check(f"{name} asks for an invocation first", is_ready, asked):
            continue
        least = min(milliseconds for milliseconds, _, _ in starts)
        memory = max(mib for _, mib, _ in starts)
        checks.check(
            f"{name}: {least:.1f} ms of processor time until its first poll, at most "
            f"{CPU_MILLISECONDS_MAX:.0f}",
            least <= CPU_MILLISECONDS_MAX,
        )
        checks.check(
            f"{name}: {memory:.1f} MiB until its first poll, at most {MEMORY_MIB_MAX}",
            memory <= MEMORY_MIB_MAX,
        )


if __name__ == "__main__":
    raise SystemExit(Checks.of(run))
