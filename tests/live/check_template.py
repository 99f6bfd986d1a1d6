"""The links, the dashboard and the alarms of template.yaml, and what checkov says of it, with the answers in .checkov.yaml.

A policy that checkov cannot read it leaves out without a word, and says that nothing failed. So it is counted, too, that it
looked at every function and at the policies of every function's role.
"""

import json
import subprocess
import sys
from collections import Counter

import template_links
from checks import FUNCTIONS, REPOSITORY, Checks

# Write access without constraints, which is looked for in policies.
OF_POLICIES, OF_FUNCTIONS = "CKV_AWS_111", "CKV_AWS_45"


def run(checks):
    template_links.check(checks)
    # What it would download are the texts of its guidelines.
    command = [sys.argv[1], "--file", "template.yaml", "--compact", "--skip-download", "--output", "json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        checks.check("checkov says what it found", False, (done.stdout[-2000:], done.stderr[-2000:]))
        return
    results, summary = report["results"], report["summary"]
    found = [(one["check_id"], one["resource"], one["check_name"]) for one in results["failed_checks"]]
    checks.check("checkov finds nothing that .checkov.yaml does not answer", not found, found)
    checks.check("it ends well, and could read the template", done.returncode == 0 and not summary["parsing_errors"], summary)
    judged = Counter(one["check_id"] for one in results["passed_checks"] + results["failed_checks"])
    for rule, what in ((OF_POLICIES, "the policies of every function's role"), (OF_FUNCTIONS, "every function")):
        checks.check(f"it judged {what}", judged[rule] == len(FUNCTIONS), judged)


if __name__ == "__main__":
    raise SystemExit(Checks.of(run))
