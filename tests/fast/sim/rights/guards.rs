//! Policies of resources: who may send to the queues, who may write the table, who may call `wake`, and who may take a role. Each is judged
//! together with what the caller's own policies say, as IAM does.
//!
//! The template makes no key: that of `TableKmsKeyArn` has a policy of its owner's.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-basics-id-rdp.html>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use tests::stack::{capitalized, template};

use super::{
    Asked, Case, STACKS, cases, crippled,
    policy::{Effect, Request, Statement, allows},
    requests::{SOURCE_FUNCTION, queue, request},
    roles::{Resolver, Stack},
};

const WRITES: [&str; 7] = [
    "BatchWriteItem",
    "DeleteItem",
    "PartiQLDelete",
    "PartiQLInsert",
    "PartiQLUpdate",
    "PutItem",
    "UpdateItem",
];
const WRITER: &str = "aws:PrincipalTag/journeyman/writes-ledger";
const PRINCIPAL: &str = "aws:PrincipalArn";
const RULE: &str = "aws:SourceArn";
const OVER_TLS: &str = "aws:SecureTransport";
const LAMBDA: &str = "lambda.amazonaws.com";
const EVENT_BRIDGE: &str = "events.amazonaws.com";

/// Whom a statement of a resource's policy is about.
#[derive(Clone, Debug)]
enum Whom {
    Anyone,
    Services(BTreeSet<String>),
}

#[derive(Clone, Debug)]
struct Guard {
    whom: Whom,
    statement: Statement,
}

impl Guard {
    fn all(document: &Value) -> Vec<Self> {
        let statements = document["Statement"].as_array().expect("statements");
        let guard = |statement: &Value| {
            let mut statement = statement.as_object().expect("a statement").clone();
            let whom = match statement.remove("Principal").expect("a principal") {
                Value::String(anyone) if anyone == "*" => Whom::Anyone,
                Value::Object(principals) => {
                    let names: Vec<&String> = principals.keys().collect();
                    assert_eq!(names, ["Service"], "principals that are not understood");
                    let services = &principals["Service"];
                    let list = services
                        .as_array()
                        .map_or_else(|| vec![services], |list| list.iter().collect());
                    let texts =
                        list.into_iter().map(|text| text.as_str().expect("a text").to_owned());
                    Whom::Services(texts.collect())
                }
                other => panic!("{other} is no principal"),
            };
            // A role's own policy is about the role.
            statement.entry("Resource").or_insert(json!("*"));
            let document = json!({ "Version": document["Version"], "Statement": statement });
            let mut statements =
                Statement::all(&document).unwrap_or_else(|error| panic!("{error}"));
            Self { whom, statement: statements.remove(0) }
        };
        statements.iter().map(guard).collect()
    }
}

/// Who asks.
#[derive(Clone, Debug)]
enum Caller {
    /// A role of this account or of another one, with what its own policies say.
    Role {
        statements: Vec<Statement>,
        is_here: bool,
    },
    Service(&'static str),
    /// Without credentials.
    Anonymous,
}

impl Caller {
    /// A user who may do everything, by the user's own policies.
    fn administrator(is_here: bool) -> Self {
        let document = json!({
            "Version": "2012-10-17",
            "Statement": { "Effect": "Allow", "Action": "*", "Resource": "*" },
        });
        Self::Role { statements: Statement::all(&document).expect("a policy"), is_here }
    }

    fn may(&self, guards: &[Guard], request: &Request) -> bool {
        let is_meant = |guard: &&Guard| match (&guard.whom, self) {
            (Whom::Anyone, _) => true,
            (Whom::Services(services), Self::Service(service)) => services.contains(*service),
            (Whom::Services(_), Self::Role { .. } | Self::Anonymous) => false,
        };
        let applies = |guard: &&Guard| guard.statement.applies(request).expect("it was understood");
        let said: Vec<Effect> =
            guards.iter().filter(is_meant).filter(applies).map(|g| g.statement.effect).collect();
        if said.contains(&Effect::Deny) {
            return false;
        }
        let by_resource = said.contains(&Effect::Allow);
        match self {
            Self::Service(_) | Self::Anonymous => by_resource,
            // A role must let a principal assume it, from any place.
            Self::Role { statements, is_here }
                if !is_here || request.action == "sts:AssumeRole" =>
            {
                by_resource && allows(statements, request)
            }
            Self::Role { statements, .. } => by_resource || allows(statements, request),
        }
    }
}

/// A policy of a resource, with what it must allow and what it must refuse.
struct Guarded {
    name: String,
    guards: Vec<Guard>,
    allowed: Vec<(Caller, Request)>,
    refused: Vec<(Caller, Request)>,
}

/// What functions ask of a resource, each as its role.
fn of_functions(cases: &[Case], stack: Stack, resource: &str) -> Vec<(Caller, Request)> {
    let here = cases
        .iter()
        .filter(|case| case.stack.parameters == stack.parameters)
        .filter(|case| case.stack.partition == stack.partition);
    let asked = here.flat_map(|case| {
        let caller = Caller::Role { statements: case.statements.clone(), is_here: true };
        let about = case.allowed.iter().filter(|request| request.resource == resource);
        about.map(move |request| (caller.clone(), request.clone()))
    });
    asked.collect()
}

fn of_table(resolver: Resolver<'_>, cases: &[Case]) -> Option<Guarded> {
    let stack = resolver.stack;
    let (name, properties) = resolver.resources("AWS::DynamoDB::Table").pop()?;
    let guards = Guard::all(&resolver.resolve(&properties["ResourcePolicy"]["PolicyDocument"]));
    let arn = format!("arn:aws:dynamodb:{}:123456789012:table/Table", super::requests::REGION);
    let asks =
        |action: &str| request(&format!("dynamodb:{action}"), arn.clone(), &[]).in_stack(stack);
    let arn_here = asks("GetItem").resource;
    let mut allowed = Vec::new();
    let mut refused = Vec::new();
    let role = |name: &str| format!("arn:{}:iam::123456789012:role/{name}", stack.partition);
    // As CloudFormation names them.
    let of_function = |name: &str| role(&format!("any-stack-{}Role-1A2B", capitalized(name)));
    for (caller, request) in of_functions(cases, stack, &arn_here) {
        let request = request.with(WRITER, &["true"]);
        for function in &request.context[&SOURCE_FUNCTION.to_ascii_lowercase()] {
            let arn = of_function(function);
            allowed.push((caller.clone(), request.with(PRINCIPAL, &[&arn])));
        }
    }
    let (ours, others) = (Caller::administrator(true), Caller::administrator(false));
    for action in WRITES {
        let by_function = asks(action).with(PRINCIPAL, &[&of_function("launch")]);
        refused.push((ours.clone(), by_function.clone()));
        refused.push((ours.clone(), by_function.with(WRITER, &["false"])));
        // The principal that assumes a role may bring a session tag.
        let tagged = asks(action).with(WRITER, &["true"]);
        refused.push((ours.clone(), tagged.with(PRINCIPAL, &[&role("admin")])));
        refused.push((others.clone(), by_function.with(WRITER, &["true"])));
    }
    for action in ["GetItem", "Query", "UpdateTable", "DeleteTable", "PutResourcePolicy"] {
        allowed.push((ours.clone(), asks(action)));
        refused.push((others.clone(), asks(action)));
    }
    Some(Guarded { name: name.to_owned(), guards, allowed, refused })
}

/// The rules that deliver to a queue, or leave there what they cannot deliver, by ARN.
fn rules_to(resolver: Resolver<'_>, queue: &str) -> BTreeSet<String> {
    let arn = |name: &str| resolver.resolve(&json!({ "Fn::GetAtt": format!("{name}.Arn") }));
    let is_it = |place: &Value| place["Fn::GetAtt"] == format!("{queue}.Arn");
    let mut names = BTreeSet::new();
    for (name, rule) in resolver.resources("AWS::Events::Rule") {
        let targets = rule["Targets"].as_array().expect("targets");
        let sends =
            targets.iter().any(|t| is_it(&t["Arn"]) || is_it(&t["DeadLetterConfig"]["Arn"]));
        names.extend(sends.then(|| name.to_owned()));
    }
    for (name, function) in resolver.resources("AWS::Serverless::Function") {
        for (event, told) in function["Events"].as_object().into_iter().flatten() {
            let leaves = is_it(&told["Properties"]["DeadLetterConfig"]["Arn"]);
            names.extend(leaves.then(|| format!("{name}{event}")));
        }
    }
    names.iter().map(|name| arn(name).as_str().expect("an ARN").to_owned()).collect()
}

fn of_queues(resolver: Resolver<'_>, cases: &[Case]) -> Vec<Guarded> {
    let stack = resolver.stack;
    let mut seen = Vec::new();
    for (policy, properties) in resolver.resources("AWS::SQS::QueuePolicy") {
        let guards = Guard::all(&resolver.resolve(&properties["PolicyDocument"]));
        for name in properties["Queues"].as_array().expect("queues") {
            let name = name["Ref"].as_str().expect("a queue");
            let of_queue = |action: &str| {
                let asked = request(&format!("sqs:{action}"), queue(name), &[(OVER_TLS, "true")]);
                asked.in_stack(stack)
            };
            let send = of_queue("SendMessage");
            let rules = rules_to(resolver, name);
            let service = Caller::Service(EVENT_BRIDGE);
            let of_functions = of_functions(cases, stack, &send.resource).into_iter();
            let mut allowed: Vec<_> =
                of_functions.map(|(caller, r)| (caller, r.with(OVER_TLS, &["true"]))).collect();
            let by_rules = rules.iter().map(|rule| send.with(RULE, &[rule]));
            allowed.extend(by_rules.map(|request| (service.clone(), request)));
            let plain = allowed.iter().map(|(c, r)| (c.clone(), r.with(OVER_TLS, &["false"])));
            let mut refused: Vec<_> = plain.collect();
            let not_ours = "arn:aws:events:us-west-2:123456789012:rule/other";
            refused.push((service.clone(), send.clone()));
            refused.push((service, send.with(RULE, &[not_ours]).in_stack(stack)));
            for rule in &rules {
                refused.push((Caller::Service("sns.amazonaws.com"), send.with(RULE, &[rule])));
            }
            let (ours, others) = (Caller::administrator(true), Caller::administrator(false));
            refused.push((ours.clone(), of_queue("ReceiveMessage").with(OVER_TLS, &["false"])));
            allowed.push((ours.clone(), of_queue("ReceiveMessage")));
            for action in ["SendMessage", "ReceiveMessage", "DeleteMessage", "SetQueueAttributes"] {
                refused.push((others.clone(), of_queue(action)));
            }
            // Its messages disrupt nodes: not even an administrator writes there.
            let list = if name == "InterruptionQueue" { &mut refused } else { &mut allowed };
            list.push((ours, send));
            seen.push(Guarded {
                name: format!("{policy} {name}"),
                guards: guards.clone(),
                allowed,
                refused,
            });
        }
    }
    seen
}

fn of_roles(resolver: Resolver<'_>) -> Vec<Guarded> {
    let ec2 = if resolver.stack.partition == "aws-cn" {
        "ec2.amazonaws.com.cn"
    } else {
        "ec2.amazonaws.com"
    };
    let of_role = |(name, properties): (&str, &Value)| {
        let guards = Guard::all(&resolver.resolve(&properties["AssumeRolePolicyDocument"]));
        let wanted = if name.ends_with("NodeRole") { ec2 } else { LAMBDA };
        let take = request("sts:AssumeRole", format!("arn:aws:iam::123456789012:role/{name}"), &[])
            .in_stack(resolver.stack);
        let services = [ec2, LAMBDA, EVENT_BRIDGE].into_iter().filter(|service| *service != wanted);
        let mut refused: Vec<_> =
            services.map(|service| (Caller::Service(service), take.clone())).collect();
        refused.extend([true, false].map(|is_here| (Caller::administrator(is_here), take.clone())));
        let allowed = vec![(Caller::Service(wanted), take)];
        Guarded { name: name.to_owned(), guards, allowed, refused }
    };
    resolver.resources("AWS::IAM::Role").into_iter().map(of_role).collect()
}

/// The private API of `wake`: an API server has no credentials, and comes by the endpoint.
fn of_wake(resolver: Resolver<'_>) -> Option<Guarded> {
    let (name, properties) = resolver.resources("AWS::ApiGateway::RestApi").pop()?;
    let guards = Guard::all(&resolver.resolve(&properties["Policy"]));
    let call = request("execute-api:Invoke", "execute-api:/wake/POST/path".to_owned(), &[]);
    let by = |endpoint| (Caller::Anonymous, call.with("aws:SourceVpce", &[endpoint]));
    let refused = vec![by("vpce-2"), (Caller::Anonymous, call.clone())];
    Some(Guarded { name: name.to_owned(), guards, allowed: vec![by("vpce-1")], refused })
}

fn guarded(template: &Value, cases: &[Case]) -> Vec<Guarded> {
    let of_stack = |stack: Stack| {
        let resolver = Resolver { template, stack };
        let mut seen = of_roles(resolver);
        seen.extend(of_table(resolver, cases));
        seen.extend(of_wake(resolver));
        seen.extend(of_queues(resolver, cases));
        seen
    };
    STACKS.into_iter().flat_map(of_stack).collect()
}

/// What is wrong with the policies of resources.
fn faults(asked: &Asked) -> BTreeSet<String> {
    let template = template();
    let guarded = guarded(&template, &cases(asked));
    let mut faults = BTreeSet::new();
    let mut noticed: BTreeMap<String, bool> = BTreeMap::new();
    for Guarded { name, guards, allowed, refused } in &guarded {
        for (caller, request) in allowed.iter().filter(|(c, request)| !c.may(guards, request)) {
            faults.insert(format!("{name} keeps {caller:?} from {request:?}"));
        }
        for (caller, request) in refused.iter().filter(|(c, request)| c.may(guards, request)) {
            faults.insert(format!("{name} lets {caller:?} do {request:?}"));
        }
        let whole: Vec<Statement> = guards.iter().map(|guard| guard.statement.clone()).collect();
        for (what, statements) in crippled(&whole) {
            let whom = |statement: &Statement| {
                let same = guards.iter().find(|guard| guard.statement.sid == statement.sid);
                same.expect("each has a name of its own").whom.clone()
            };
            let rest = statements.into_iter();
            let rest: Vec<Guard> =
                rest.map(|statement| Guard { whom: whom(&statement), statement }).collect();
            let policy = name.split(' ').next().unwrap_or_default();
            let is_noticed = noticed.entry(format!("{policy}: {what}")).or_insert(false);
            *is_noticed = *is_noticed
                || allowed.iter().any(|(caller, request)| !caller.may(&rest, request))
                || refused.iter().any(|(caller, request)| caller.may(&rest, request));
        }
    }
    faults.extend(
        noticed
            .into_iter()
            .filter(|(_, n)| !n)
            .map(|(what, _)| format!("no test would miss {what}")),
    );
    faults
}

#[test]
fn resources_let_in_whom_the_stack_needs_and_no_other() {
    let faults = faults(crate::calls::seen());
    let shown: Vec<&str> = faults.iter().map(String::as_str).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", shown.len(), shown.join("\n"));
}

/// A role that writes the ledger says so, and no other one: the table's policy knows it by that.
#[test]
fn roles_that_write_the_ledger_have_the_tag_and_the_boundary_that_was_given() {
    let (template, cases) = (template(), cases(crate::calls::seen()));
    for stack in STACKS {
        let resolver = Resolver { template: &template, stack };
        let boundary = stack.parameters.iter().find(|(name, _)| *name == "PermissionsBoundaryArn");
        for (name, properties) in resolver.resources("AWS::IAM::Role") {
            let properties = resolver.resolve(properties);
            let tag = json!([{ "Key": "journeyman/writes-ledger", "Value": "true" }]);
            let case = cases
                .iter()
                .find(|case| name == format!("{}Role", capitalized(case.function.as_str())));
            let writes = |case: &Case| {
                let is_write =
                    |action: &str| WRITES.iter().any(|write| action == format!("dynamodb:{write}"));
                case.allowed.iter().any(|request| is_write(&request.action))
            };
            assert_eq!(properties["Tags"] == tag, case.is_some_and(writes), "{name}");
            let given = properties["PermissionsBoundary"].as_str();
            assert_eq!(given, boundary.map(|(_, arn)| *arn), "{name}");
        }
    }
}

/// What a node needs is said by AWS's own policies: to join, to give pods addresses, to pull images, to be reached.
#[test]
fn roles_of_nodes_have_what_nodes_need() {
    let template = template();
    let mut seen = BTreeSet::new();
    for stack in STACKS {
        let resolver = Resolver { template: &template, stack };
        for (name, properties) in resolver.resources("AWS::IAM::Role") {
            if name.ends_with("NodeRole") {
                seen.insert(name.to_owned());
                let policies = [
                    "AmazonEKSWorkerNodePolicy",
                    "AmazonEKS_CNI_Policy",
                    "AmazonEC2ContainerRegistryPullOnly",
                    "AmazonSSMManagedInstanceCore",
                ];
                let arns = policies
                    .map(|policy| format!("arn:{}:iam::aws:policy/{policy}", stack.partition));
                assert_eq!(
                    resolver.resolve(&properties["ManagedPolicyArns"]),
                    json!(arns),
                    "{name}"
                );
                assert!(properties["Policies"].is_null(), "{name}: who judges its own policies?");
            }
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// The conditions that decide about `value`.
fn conditions(value: &Value, seen: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| conditions(item, seen)),
        Value::Object(fields) => {
            seen.extend(
                fields.get("Fn::If").and_then(|parts| parts[0].as_str()).map(ToOwned::to_owned),
            );
            fields.values().for_each(|field| conditions(field, seen));
        }
        _ => {}
    }
}

#[test]
fn each_condition_that_policies_depend_on_holds_in_one_stack_and_not_in_another() {
    let template = template();
    let mut seen = BTreeSet::new();
    for resource in template["Resources"].as_object().expect("resources").values() {
        let properties = &resource["Properties"];
        match resource["Type"].as_str().expect("a type") {
            "AWS::IAM::Role" | "AWS::SQS::QueuePolicy" => conditions(properties, &mut seen),
            "AWS::ApiGateway::RestApi" => conditions(&properties["Policy"], &mut seen),
            "AWS::DynamoDB::Table" => conditions(&properties["ResourcePolicy"], &mut seen),
            kind => {
                let has_policy = ["Policy", "Policies", "PolicyDocument", "KeyPolicy"];
                let is_judged = has_policy.iter().all(|name| properties[*name].is_null());
                assert!(is_judged, "a {kind} has a policy that is not judged");
                continue;
            }
        }
        seen.extend(resource["Condition"].as_str().map(ToOwned::to_owned));
    }
    let holds = |name: &str, stack: Stack| Resolver { template: &template, stack }.is_true(name);
    for name in seen {
        let in_stacks: BTreeSet<bool> =
            STACKS.into_iter().map(|stack| holds(&name, stack)).collect();
        assert_eq!(in_stacks.len(), 2, "{name} is always the same in the stacks that are judged");
    }
}
