//! What is asked of IAM: by the calls of stories, by Lambda for a function, and what must be refused.

use std::collections::{BTreeMap, BTreeSet};

use model::Function;
use ports::rights::iam::{QUERY_INDEX, actions};
use serde_json::Value;
use simulator::ACCOUNT_ID;
use tests::stack::capitalized;

use super::{
    Asked,
    policy::{Context, Request},
    roles::Stack,
};

/// Where the stories play, as the simulator writes ARNs.
pub(crate) const REGION: &str = "us-west-2";
/// Which function's code asks; what Lambda itself does in a role's name has no such key.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html>
pub(crate) const SOURCE_FUNCTION: &str = "lambda:SourceFunctionArn";

/// What wakes a function that has a queue, and one that has none.
const OF_RECEIVERS: [&str; 2] = ["lambda:InvokeFunction", "sqs:SendMessage"];

/// The partitions of a table that a request is about.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html>
const LEADING_KEYS: &str = "dynamodb:LeadingKeys";

pub(crate) fn request(action: &str, resource: String, keys: &[(&str, &str)]) -> Request {
    let keys =
        keys.iter().map(|(key, value)| (key.to_ascii_lowercase(), [(*value).to_owned()].into()));
    Request { action: action.to_owned(), resource, context: keys.collect() }
}

pub(crate) fn queue(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{name}")
}

/// The request for an action that policies tell apart by nothing but its name and place.
fn usual(action: &str, cluster: &str) -> Option<Request> {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/Table");
    let (action, resource) = match action {
        QUERY_INDEX => ("dynamodb:Query", format!("{table}/index/claims_of_instances")),
        "eks:DescribeCluster" => {
            (action, format!("arn:aws:eks:{REGION}:{ACCOUNT_ID}:cluster/{cluster}"))
        }
        "pricing:GetProducts" | "iam:ListInstanceProfiles" => (action, "*".to_owned()),
        _ if action.starts_with("dynamodb:") => {
            let keys = [cluster, &format!("region#{REGION}")];
            let request = request(action, table, &[("aws:RequestedRegion", REGION)]);
            return Some(request.with(LEADING_KEYS, &keys));
        }
        _ if action.starts_with("ec2:Describe") => (action, "*".to_owned()),
        _ => return None,
    };
    Some(request(action, resource, &[("aws:RequestedRegion", REGION)]))
}

/// What the calls of `function` in the stories asked.
pub(crate) fn of_calls(asked: &Asked, function: Function, cluster: &str) -> BTreeSet<Request> {
    let mut requests = BTreeSet::new();
    let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for kept in asked.authorizations.iter().filter(|kept| kept.function == function) {
        told.entry(kept.call).or_default().insert(kept.action);
        let context =
            kept.context.iter().map(|(key, values)| (key.to_ascii_lowercase(), values.clone()));
        requests.insert(Request {
            action: kept.action.to_owned(),
            resource: kept.resource.clone(),
            context: context.collect(),
        });
    }
    for call in asked.called.get(&function).into_iter().flatten() {
        let needed = actions(call);
        for action in needed {
            let is_allowed_by_table =
                told.get(call).is_some_and(|actions| actions.contains(action));
            match usual(action, cluster) {
                Some(request) => drop(requests.insert(request)),
                None if is_allowed_by_table || OF_RECEIVERS.contains(action) => {}
                None => panic!("no story shows what {function} needs {action} for, of {call}"),
            }
        }
        let needed: BTreeSet<&str> = needed.iter().copied().collect();
        let more: Vec<_> =
            told.get(call).into_iter().flatten().filter(|a| !needed.contains(*a)).collect();
        assert!(more.is_empty(), "the adapter of {call} does not ask for {more:?}");
    }
    for receiver in asked.sent.get(&function).into_iter().flatten() {
        let name = capitalized(receiver.as_str());
        requests.insert(if Function::WITH_PULSE.contains(receiver) {
            request("sqs:SendMessage", queue(&format!("{name}Queue")), &[])
        } else {
            let function = format!("arn:aws:lambda:{REGION}:{ACCOUNT_ID}:function:{name}Function");
            request("lambda:InvokeFunction", function, &[])
        });
    }
    requests
        .into_iter()
        .map(|request| request.with(SOURCE_FUNCTION, &[function.as_str()]))
        .collect()
}

/// The parameter of an image that an EC2NodeClass names and that is the account's own.
pub(crate) fn own_image() -> Request {
    let arn = format!("arn:aws:ssm:{REGION}:{ACCOUNT_ID}:parameter/own/image");
    request("ssm:GetParameter", arn, &[])
}

/// What Lambda does with a function's role to have it in a VPC.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions>
pub(crate) fn of_network() -> BTreeSet<Request> {
    let actions = [
        "AssignPrivateIpAddresses",
        "CreateNetworkInterface",
        "DeleteNetworkInterface",
        "DescribeNetworkInterfaces",
        "DescribeSubnets",
        "UnassignPrivateIpAddresses",
    ];
    let keys = [("aws:RequestedRegion", REGION)];
    actions.map(|action| request(&format!("ec2:{action}"), "*".to_owned(), &keys)).into()
}

/// What Lambda asks in the name of `function`, to feed it and to keep what it says.
pub(crate) fn of_lambda(template: &Value, function: Function) -> BTreeSet<Request> {
    let name = capitalized(function.as_str());
    let properties = &template["Resources"][format!("{name}Function")]["Properties"];
    let group = format!("/journeyman/journeyman/{function}");
    let group =
        format!("arn:aws:logs:{REGION}:{ACCOUNT_ID}:log-group:{group}:log-stream:2026/11/25");
    let mut requests: BTreeSet<Request> = ["logs:CreateLogStream", "logs:PutLogEvents"]
        .map(|action| request(action, group.clone(), &[]))
        .into();
    for event in properties["Events"].as_object().into_iter().flat_map(|events| events.values()) {
        if event["Type"] == "SQS" {
            let source = event["Properties"]["Queue"]["Fn::GetAtt"]
                .as_str()
                .expect("a queue")
                .strip_suffix(".Arn")
                .expect("an ARN");
            let actions = [
                "ChangeMessageVisibility",
                "DeleteMessage",
                "GetQueueAttributes",
                "ReceiveMessage",
            ];
            requests.extend(actions.map(|a| request(&format!("sqs:{a}"), queue(source), &[])));
        }
    }
    if properties["EventInvokeConfig"]["DestinationConfig"]["OnFailure"].is_object() {
        requests.insert(request("sqs:SendMessage", queue("EventDeadLetterQueue"), &[]));
    }
    requests
}

impl Request {
    /// The same for each role that nodes of the stack have, where it passes one on.
    pub(crate) fn of_node_roles(&self, stack: Stack) -> Vec<Self> {
        if self.action != "iam:PassRole" || !self.resource.contains(":role/KarpenterNodeRole-") {
            return vec![self.clone()];
        }
        let (account, _) = self.resource.split_once(":role/").expect("a role");
        let roles = stack.node_roles.iter();
        roles
            .map(|role| Self { resource: format!("{account}:role/{role}"), ..self.clone() })
            .collect()
    }

    /// The same where the stack is, and about its table.
    pub(crate) fn in_stack(&self, stack: Stack) -> Self {
        let place = |text: &str| {
            let text = text
                .replace("arn:aws:", &format!("arn:{}:", stack.partition))
                .replace(":table/Table", &format!(":table/{}", stack.table));
            text.replace(REGION, stack.region)
        };
        let service = |value: &String| match (value.as_str(), stack.partition) {
            ("ec2.amazonaws.com", "aws-cn") => "ec2.amazonaws.com.cn".to_owned(),
            (value, _) => place(value),
        };
        let context = self.context.iter();
        let context =
            context.map(|(key, values)| (key.clone(), values.iter().map(service).collect()));
        Self {
            action: self.action.clone(),
            resource: place(&self.resource),
            context: context.collect(),
        }
    }

    pub(crate) fn with(&self, key: &str, values: &[&str]) -> Self {
        let mut context: Context = self.context.clone();
        let values: BTreeSet<String> = values.iter().map(|value| (*value).to_owned()).collect();
        context.insert(key.to_ascii_lowercase(), values);
        context.retain(|_, values| !values.is_empty());
        Self { context, ..self.clone() }
    }

    fn has(&self, key: &str) -> bool {
        self.context.contains_key(&key.to_ascii_lowercase())
    }

    fn at(&self, from: &str, to: &str) -> Option<Self> {
        let resource = self.resource.replace(from, to);
        (resource != self.resource).then(|| Self { resource, ..self.clone() })
    }

    /// The kind of thing in EC2 that it is about.
    fn kind(&self) -> &str {
        self.resource.rsplit(':').next().and_then(|name| name.split('/').next()).unwrap_or_default()
    }
}

const CLUSTER: &str = "eks:eks-cluster-name";
const POOL: &str = "karpenter.sh/nodepool";
const CLASS: &str = "karpenter.k8s.aws/ec2nodeclass";
const TOPOLOGY_REGION: &str = "topology.kubernetes.io/region";

/// What differs from `request`, which is made by `function`, in one thing that belongs to others: another
/// cluster's, another account's, or none.
pub(crate) fn foreign(function: Function, request: &Request) -> Vec<Request> {
    let mut requests = elsewhere(request);
    let action = request.action.as_str();
    let is_new = request.has("ec2:CreateAction") || action != "ec2:CreateTags";
    // What comes along with an instance, which must have the tags, need not have them.
    let comes_along = matches!(request.kind(), "network-interface" | "spot-instances-request")
        && action != "ec2:CreateTags";
    let mut tag = |key: String, may_lack: bool, may_differ: bool| {
        if request.has(&key) {
            requests.extend((!may_lack).then(|| request.with(&key, &[])));
            requests.extend((!may_differ).then(|| request.with(&key, &["another-owners"])));
        }
    };
    let is_profile = action.starts_with("iam:");
    tag(format!("aws:RequestTag/{CLUSTER}"), !is_new || comes_along, comes_along);
    tag(format!("aws:RequestTag/{POOL}"), !is_new || comes_along, true);
    if is_profile && action != "iam:GetInstanceProfile" {
        for kind in ["Request", "Resource"] {
            tag(format!("aws:{kind}Tag/{CLASS}"), false, true);
            tag(format!("aws:{kind}Tag/{TOPOLOGY_REGION}"), false, false);
        }
    }
    if action != "iam:GetInstanceProfile" {
        tag(format!("aws:ResourceTag/{CLUSTER}"), false, false);
    }
    tag(LEADING_KEYS.to_owned(), true, false);
    let is_used = matches!(action, "ec2:CreateFleet" | "ec2:RunInstances");
    tag(format!("aws:ResourceTag/{POOL}"), is_used, true);
    if function == Function::Sweep {
        tag("aws:ResourceTag/journeyman/ledger".to_owned(), false, true);
    }
    for key in ["ec2:CreateAction", "iam:PassedToService", "arc-zonal-shift:ResourceIdentifier"] {
        tag(key.to_owned(), false, false);
    }
    if action == "ec2:CreateTags" && !is_new {
        let keys: Vec<&str> = request
            .context
            .get("aws:tagkeys")
            .into_iter()
            .flatten()
            .map(String::as_str)
            .chain(["another-owners"])
            .collect();
        requests.push(request.with("aws:TagKeys", &keys));
        if request.has("aws:RequestTag/Name") {
            requests.push(request.with("aws:ResourceTag/Name", &["mine"]));
        }
    }
    requests
}

/// The same request in another place.
fn elsewhere(request: &Request) -> Vec<Request> {
    let mut requests = Vec::new();
    // It has no resources: a key says what it is about.
    if request.action == "arc-zonal-shift:GetManagedResource" {
        return requests;
    }
    let global = ["iam:", "pricing:"].iter().any(|service| request.action.starts_with(service));
    if !global {
        requests.extend(request.at(&format!(":{REGION}:"), ":eu-central-1:"));
        if request.resource == "*" {
            requests.push(request.with("aws:RequestedRegion", &["eu-central-1"]));
        }
    }
    // The account in an ARN of EC2 is whose the thing is, such as a subnet's that another account shares.
    if !request.action.starts_with("ec2:") {
        requests.extend(request.at(ACCOUNT_ID, "999999999999"));
    }
    for (ours, theirs) in [
        (":table/Table", ":table/Other"),
        ("/index/claims_of_instances", "/index/other"),
        ("Queue", "Other"),
        (":cluster/", ":cluster/not-"),
        (":function:", ":function:not-"),
        (":log-group:/journeyman/", ":log-group:/other/"),
        (":parameter/aws/service/", ":parameter/secret/"),
        (":parameter/own/", ":parameter/secret/"),
        (":role/", ":role/Admin"),
    ] {
        requests.extend(request.at(ours, theirs));
    }
    if request.action.starts_with("iam:") && request.action != "iam:GetInstanceProfile" {
        requests.extend(
            request.at(":instance-profile/journeyman/us-west-2/", ":instance-profile/other/"),
        );
    }
    requests
}
