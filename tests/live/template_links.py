"""The addresses that the stack's outputs give, and what its dashboard shows: made for a stack of each partition as
CloudFormation would, and held to their form. The test opens none of them: there is no console without an account.
"""

import json
import re
from urllib.parse import parse_qs, urlsplit

import yaml

from checks import REPOSITORY

STACK, ACCOUNT = "journeyman", "123456789012"
PLACES = {
    "aws": ("us-west-2", "us-west-2.console.aws.amazon.com"),
    "aws-cn": ("cn-north-1", "cn-north-1.console.amazonaws.cn"),
    "aws-us-gov": ("us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"),
}
# What stands behind the `#`, by output: the console's own route, and what of the stack it is about.
ROUTES = {
    "DashboardUrl": ("/cloudwatch/home", re.compile(rf"dashboards/dashboard/{STACK}-[a-z0-9-]+")),
    "AlarmsUrl": ("/cloudwatch/home", re.compile(rf"alarmsV2:\?~\(search~'{STACK}~alarmStateFilter~'ALARM\)")),
    "FunctionsUrl": ("/lambda/home", re.compile(rf"/functions\?fo=and&o0=%3A&v0={STACK}-")),
    "TableUrl": ("/dynamodbv2/home", re.compile(r"table\?name=Table")),
}
IN_ADDRESS = re.compile(r"[!-~]+")


class Loader(yaml.SafeLoader):
    """CloudFormation's short forms as its long ones."""


def long_form(loader, suffix, node):
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    kinds = {yaml.ScalarNode: loader.construct_scalar, yaml.SequenceNode: loader.construct_sequence}
    value = kinds.get(type(node), loader.construct_mapping)
    return {name: value(node, deep=True) if value != loader.construct_scalar else value(node)}


Loader.add_multi_constructor("!", long_form)


class Stack:
    """The template's functions, resolved for one stack with a table of its own."""

    def __init__(self, template, partition, region):
        self.template = template
        self.known = {
            "AWS::Partition": partition,
            "AWS::Region": region,
            "AWS::AccountId": ACCOUNT,
            "AWS::StackName": STACK,
            "ClusterName": "demo",
        }

    def reference(self, name):
        if name in self.known:
            return self.known[name]
        resource, _, _ = name.partition(".")
        if resource not in self.template["Resources"]:
            raise KeyError(f"{name} is neither a parameter that is told nor a resource")
        properties = self.template["Resources"][resource].get("Properties", {})
        # What a resource is called where the template says so; otherwise CloudFormation names it.
        named = properties.get("DashboardName") or properties.get("LogGroupName")
        return self.resolve(named) if named else resource

    def resolve(self, value):
        if not isinstance(value, dict):
            return value
        ((function, argument),) = value.items()
        if function == "Ref":
            return self.reference(argument)
        if function == "Fn::FindInMap":
            name, first, second = (self.resolve(part) for part in argument)
            return self.template["Mappings"][name][first][second]
        if function == "Fn::If":
            # A stack with its own table, and everything that is optional.
            return self.resolve(argument[1])
        if function == "Fn::Sub":
            text, more = argument if isinstance(argument, list) else (argument, {})
            given = {name: self.resolve(one) for name, one in more.items()}
            return re.sub(r"\$\{([^}]+)\}", lambda m: given.get(m[1]) or self.reference(m[1]), text)
        raise KeyError(f"{function} is not understood")


def check_links(checks, template, partition):
    region, host = PLACES[partition]
    stack = Stack(template, partition, region)
    outputs = {name: told["Value"] for name, told in template["Outputs"].items() if name in ROUTES}
    checks.check(f"{partition}: each link is an output", outputs.keys() == ROUTES.keys(), sorted(outputs))
    for name, value in outputs.items():
        link = stack.resolve(value)
        parts, (path, route) = urlsplit(link), ROUTES[name]
        is_link = (
            IN_ADDRESS.fullmatch(link)
            and (parts.scheme, parts.netloc, parts.path) == ("https", host, path)
            and parse_qs(parts.query) == {"region": [region]}
            and route.fullmatch(parts.fragment)
        )
        checks.check(f"{partition}: {name} is an address of the console", is_link, link)


def check_dashboard(checks, template):
    """It is JSON, its widgets do not overlap, and what it is about is of the stack."""
    stack = Stack(template, "aws", "us-west-2")
    widgets = json.loads(stack.resolve(template["Resources"]["Dashboard"]["Properties"]["DashboardBody"]))["widgets"]
    taken, overlapping, unknown = set(), [], []
    for widget in widgets:
        xs, ys = range(widget["x"], widget["x"] + widget["width"]), range(widget["y"], widget["y"] + widget["height"])
        place = {(x, y) for x in xs for y in ys}
        overlapping += [widget["properties"]["title"]] if place & taken or max(xs) > 23 else []
        taken |= place
        for metric in widget["properties"].get("metrics", []):
            is_ours = metric[:1] == ["Journeyman"] and metric[2:4] == ["cluster", "demo"]
            is_of_stack = metric[2] in ("QueueName", "FunctionName", "TableName") and (
                metric[3].partition(".")[0] in template["Resources"]
            )
            unknown += [] if is_ours or is_of_stack else [metric]
    checks.check(f"the dashboard's {len(widgets)} widgets are JSON, each in a place of its own", not overlapping, overlapping)
    checks.check("each of its metrics is the stack's", widgets and not unknown, unknown)


def check_alarms(checks, template):
    alarms = {n: r["Properties"] for n, r in template["Resources"].items() if r["Type"] == "AWS::CloudWatch::Alarm"}
    deaf = [name for name, told in alarms.items() if told.get("AlarmActions") != [{"Ref": "AlarmTopicArn"}]]
    silent = [name for name, told in alarms.items() if not told.get("AlarmDescription")]
    checks.check(f"{len(alarms)} alarms go to the topic, and say what they mean", alarms and not deaf + silent, deaf + silent)


def check(checks):
    with open(REPOSITORY / "template.yaml", encoding="utf-8") as file:
        template = yaml.load(file, Loader)
    for partition in PLACES:
        check_links(checks, template, partition)
    check_dashboard(checks, template)
    check_alarms(checks, template)
