//! What the functions ask of AWS in the stories of [`crate::calls`] ↔ what their roles in `template.yaml` allow, as
//! IAM would judge it: every request is allowed, the same request about things of others is not, and no part
//! of a policy could be missing without one of both being noticed.

#![expect(
    clippy::indexing_slicing,
    reason = "what a JSON value lacks is null; places come from the list itself"
)]

#[path = "rights/guards.rs"]
mod guards;
#[path = "rights/policy.rs"]
mod policy;
#[path = "rights/requests.rs"]
mod requests;
#[path = "rights/roles.rs"]
mod roles;

use std::collections::{BTreeMap, BTreeSet};

use model::Function;
use simulator::Authorization;

use policy::{Request, Statement, allows};
use requests::{SOURCE_FUNCTION, foreign, of_calls, of_lambda, of_network, own_image};
use roles::{Resolver, Stack, roles};
use tests::stack::template;

const CLUSTER: &str = "simulated";
const USUAL: Stack = Stack {
    partition: "aws",
    region: requests::REGION,
    cluster: CLUSTER,
    parameters: &[],
    node_roles: &["KarpenterNodeRole-simulated"],
    table: "Table",
};
/// Each condition of the template that a policy depends on holds in one of them, and in another it does not.
const STACKS: [Stack; 8] = [
    USUAL,
    Stack { partition: "aws-cn", region: "cn-north-1", ..USUAL },
    Stack {
        parameters: &[("SubnetIds", "subnet-1,subnet-2"), ("SecurityGroupIds", "sg-1")],
        ..USUAL
    },
    Stack { parameters: &[("CreateNodeRole", "true")], node_roles: &["NodeRole"], ..USUAL },
    Stack {
        parameters: &[("CreateNodeRole", "true"), ("CreateWindowsNodeRole", "true")],
        node_roles: &["NodeRole", "WindowsNodeRole"],
        ..USUAL
    },
    Stack {
        parameters: &[
            (
                "NodeRoleArns",
                "arn:aws:iam::123456789012:role/one,arn:aws:iam::123456789012:role/two",
            ),
            ("PermissionsBoundaryArn", "arn:aws:iam::123456789012:policy/boundary"),
            ("ImageParameterArns", "arn:aws:ssm:us-west-2:123456789012:parameter/own/*"),
        ],
        node_roles: &["one", "two"],
        ..USUAL
    },
    Stack { parameters: &[("ExistingTableName", "kept")], table: "kept", ..USUAL },
    Stack {
        parameters: &[
            ("WakeKey", "0123456789abcdef0123456789abcdef"),
            ("WakeEndpoint", "private"),
            ("WakeVpcEndpointId", "vpce-1"),
        ],
        ..USUAL
    },
];

/// What was asked in stories.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) called: BTreeMap<Function, BTreeSet<&'static str>>,
    pub(crate) sent: BTreeMap<Function, BTreeSet<Function>>,
    pub(crate) authorizations: BTreeSet<Authorization>,
}

/// One role in one stack, with what it must allow and what it must not.
struct Case {
    function: Function,
    stack: Stack,
    statements: Vec<Statement>,
    allowed: Vec<Request>,
    refused: Vec<Request>,
}

fn cases(asked: &Asked) -> Vec<Case> {
    let template = template();
    let mut cases = Vec::new();
    for stack in STACKS {
        for (function, statements) in roles(&template, stack) {
            let of_code = of_calls(asked, function, CLUSTER);
            let mut requests: BTreeSet<Request> =
                of_code.iter().flat_map(|request| request.of_node_roles(stack)).collect();
            requests.extend(of_lambda(&template, function));
            let names_images = function == Function::Resolve
                && Resolver { template: &template, stack }.is_true("HasImageParameterArns");
            requests.extend(names_images.then(own_image));
            let is_in_vpc = Resolver { template: &template, stack }.is_true("IsInVpc");
            requests.extend(of_network().into_iter().filter(|_| is_in_vpc));
            let mut refused: BTreeSet<Request> =
                requests.iter().flat_map(|request| foreign(function, request)).collect();
            refused.extend(of_code.difference(&requests).cloned());
            refused.extend((!names_images).then(own_image));
            let is_called = |request: &Request| of_code.iter().any(|r| r.action == request.action);
            let of_network = of_network().into_iter().filter(|request| !is_called(request));
            refused.extend(of_network.flat_map(|request| {
                let by_code = request.with(SOURCE_FUNCTION, &[function.as_str()]);
                [Some(by_code), (!is_in_vpc).then_some(request)].into_iter().flatten()
            }));
            let here = |requests: &BTreeSet<Request>| {
                requests.iter().map(|request| request.in_stack(stack)).collect()
            };
            let (allowed, refused) = (here(&requests), here(&refused));
            cases.push(Case { function, stack, statements, allowed, refused });
        }
    }
    cases
}

/// The statements without one of their parts, each with the words for what is missing.
fn crippled(statements: &[Statement]) -> Vec<(String, Vec<Statement>)> {
    let mut cripples = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let mut add = |what: String, part: Option<Statement>| {
            let mut rest = statements.to_vec();
            match part {
                Some(part) => rest[index] = part,
                None => drop(rest.remove(index)),
            }
            cripples.push((format!("{} without {what}", statement.sid), rest));
        };
        let without = |list: &[String], at: usize| {
            let mut list = list.to_vec();
            list.remove(at);
            list
        };
        for (at, action) in statement.actions.list.iter().enumerate() {
            let mut part = statement.clone();
            part.actions.list = without(&part.actions.list, at);
            add(action.clone(), (!part.actions.list.is_empty()).then_some(part));
        }
        for (at, resource) in statement.resources.list.iter().enumerate() {
            let mut part = statement.clone();
            part.resources.list = without(&part.resources.list, at);
            add(resource.clone(), (!part.resources.list.is_empty()).then_some(part));
        }
        for (at, condition) in statement.conditions.iter().enumerate() {
            let mut part = statement.clone();
            part.conditions.remove(at);
            add(format!("{} {}", condition.operator, condition.key), Some(part));
            for (place, value) in
                condition.values.iter().enumerate().filter(|_| condition.values.len() > 1)
            {
                let mut part = statement.clone();
                part.conditions[at].values = without(&condition.values, place);
                add(format!("{} {value}", condition.key), Some(part));
            }
        }
    }
    cripples
}

/// What is wrong with the roles.
fn faults(asked: &Asked) -> Vec<String> {
    let mut faults = BTreeSet::new();
    let cases = cases(asked);
    for Case { function, stack, statements, allowed, refused } in &cases {
        let of = format!("{} {:?} {function}", stack.partition, stack.parameters);
        for request in allowed.iter().filter(|request| !allows(statements, request)) {
            faults.insert(format!("{of} may not {request:?}"));
        }
        for request in refused.iter().filter(|request| allows(statements, request)) {
            faults.insert(format!("{of} may {request:?}"));
        }
    }
    if faults.is_empty() {
        faults.extend(parts_in_vain(&cases));
    }
    faults.into_iter().collect()
}

/// Parts of policies that could be missing without a failing test.
fn parts_in_vain(cases: &[Case]) -> BTreeSet<String> {
    let mut noticed: BTreeMap<(Function, String), bool> = BTreeMap::new();
    for Case { function, statements, allowed, refused, .. } in cases {
        for (what, statements) in crippled(statements) {
            let is_noticed = noticed.entry((*function, what)).or_insert(false);
            *is_noticed = *is_noticed
                || allowed.iter().any(|request| !allows(&statements, request))
                || refused.iter().any(|request| allows(&statements, request));
        }
    }
    let in_vain = noticed.into_iter().filter(|(_, is_noticed)| !is_noticed);
    in_vain.map(|((function, what), _)| format!("{function}: no test would miss {what}")).collect()
}

#[test]
fn roles_allow_what_stories_ask_of_our_own_things_and_nothing_else() {
    let asked = crate::calls::seen();
    let faults = faults(asked);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
