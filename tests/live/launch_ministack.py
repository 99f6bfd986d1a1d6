"""Starts the AWS emulator ministack with two changes that only tests may want.

Deliberately no configuration here: addresses and ports come from the environment that emulators.sh
sets.
"""

import socketserver

# Its Lambda Runtime API answers in several small writes; Nagle's algorithm makes each wait some 45
# ms for the last one.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True

from ministack.services import eventbridge  # The line above must come first.

put_events = eventbridge._put_events


def put_events_of_aws(data, allow_aws_source=False):
    """Accepts events whose source is `aws.ec2`, which PutEvents refuses to callers, as on AWS.

    The emulator never sends an EC2 event by itself, so a test has to play EC2.
    """
    return put_events(data, allow_aws_source=True)


eventbridge._put_events = put_events_of_aws

from ministack.app import main  # It must see the changed function.

main()
