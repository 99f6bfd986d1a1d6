"""Starts the AWS emulator ministack with what it lacks and tests need.

Deliberately no configuration here: addresses and ports come from the environment that emulators.sh
sets.
"""

import json
import os
import socketserver
from pathlib import Path
from urllib.parse import unquote

# Its Lambda Runtime API answers in several small writes; Nagle's algorithm makes each wait some 45
# ms for the last one.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True

from ministack.core import iam_actions, iam_evaluator
from ministack.services import eks, eventbridge, iam  # The line above must come first.
from ministack.services.cloudformation import provisioners

put_events = eventbridge._put_events


def put_events_of_aws(data, allow_aws_source=False):
    """Accepts events whose source is `aws.ec2`, which PutEvents refuses to callers, as on AWS.

    The emulator never sends an EC2 event by itself, so a test has to play EC2.
    """
    return put_events(data, allow_aws_source=True)


eventbridge._put_events = put_events_of_aws

create_cluster = eks._create_cluster


def create_cluster_that_runs(body, creator_arn=None):
    """A cluster whose API server is the one that a file describes, where there is such a file: the emulator would run
    one in a container. Tokens are judged by the emulator, as EKS does, if that server asks it."""
    answer = create_cluster(body, creator_arn)
    described = os.environ.get("LIVE_CLUSTER")
    cluster = eks._clusters.get(body.get("name", ""))
    if described and cluster:
        running = json.loads(Path(described).read_text(encoding="utf-8"))
        cluster["endpoint"] = running["endpoint"]
        cluster["certificateAuthority"]["data"] = running["certificateAuthority"]
        cluster["_auth_token"] = running["authToken"]
        cluster["resourcesVpcConfig"]["clusterSecurityGroupId"] = running["securityGroup"]
    return answer


eks._create_cluster = create_cluster_that_runs


def create_access_entry(logical_id, props, stack_name):
    cluster, principal = props["ClusterName"], props["PrincipalArn"]
    body = {
        "principalArn": principal,
        "type": props.get("Type", "STANDARD"),
        "kubernetesGroups": props.get("KubernetesGroups", []),
    }
    status, _, answer = eks._create_access_entry(cluster, body)
    if status >= 400:
        raise ValueError(f"AWS::EKS::AccessEntry create failed: {answer!r}")
    arn = json.loads(answer)["accessEntry"]["accessEntryArn"]
    return f"{principal}|{cluster}", {"AccessEntryArn": arn}


def delete_access_entry(physical_id, props):
    eks._delete_access_entry(props["ClusterName"], props["PrincipalArn"])


provisioners._RESOURCE_HANDLERS["AWS::EKS::AccessEntry"] = {
    "create": create_access_entry,
    "delete": delete_access_entry,
}

action_of = iam_actions.extract_iam_action


def action_of_aws(service, *request):
    """SQS's batches need the right to the single action: IAM knows no other."""
    action = action_of(service, *request)
    return action.removesuffix("Batch") if service == "sqs" and action else action


iam_actions.extract_iam_action = action_of_aws

resource_of = iam_actions.extract_resource_arn


def resource_of_aws(service, method, path, *request):
    """Who looks at an access entry or deletes it needs the right to the entry, not to its cluster."""
    arn = resource_of(service, method, path, *request)
    _, is_entry, entry = path.partition("/access-entries/")
    if service == "eks" and is_entry and "/" in arn:
        kind, _, name = unquote(entry).rpartition(":")[2].partition("/")
        return f"{arn.replace(':cluster/', ':access-entry/')}/{kind}/{arn.split(':')[4]}/{name}/0"
    return arn


iam_actions.extract_resource_arn = resource_of_aws

condition_key = iam_evaluator._resolve_condition_key


def condition_key_over_tls(key, context):
    """Loopback counts as TLS: policies that deny what comes without it are in force here, too."""
    return "true" if key.lower() == "aws:securetransport" else condition_key(key, context)


iam_evaluator._resolve_condition_key = condition_key_over_tls

create_service_linked_role = iam._create_service_linked_role
SPOT, SPOT_ON_AWS = "AWSServiceRoleForSpot", "AWSServiceRoleForEC2Spot"


def create_service_linked_role_of_aws(parameters):
    """EC2's role for spot instances is not called as the name of its service would have it."""
    status, headers, body = create_service_linked_role(parameters)
    if role := iam._roles.pop(SPOT, None):
        role.update(RoleName=SPOT_ON_AWS, Arn=role["Arn"].replace(SPOT, SPOT_ON_AWS))
        iam._roles[SPOT_ON_AWS] = role
    return status, headers, body.replace(SPOT.encode(), SPOT_ON_AWS.encode())


iam._IAM_HANDLERS["CreateServiceLinkedRole"] = create_service_linked_role_of_aws

from ministack.app import main  # It must see the changed functions.

main()
