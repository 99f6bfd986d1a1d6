//! What leaving takes, in its order, worked out from what was seen. Nothing is done here.

use serde_json::Value;

use crate::doctor::observed::{name, text};

/// What becomes of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    /// The functions drain and end them.
    End,
    /// They stay, and nobody looks after them.
    Stay,
    /// Karpenter has them.
    Karpenters,
}

/// What there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Present {
    /// The functions that are for the cluster.
    pub(super) functions: Vec<Value>,
    /// NodePools.
    pub(super) pools: Vec<Value>,
    /// EC2NodeClasses.
    pub(super) classes: Vec<Value>,
    /// NodeClaims.
    pub(super) claims: Vec<Value>,
    /// Nodes of NodePools.
    pub(super) nodes: Vec<Value>,
    /// Ids of launch templates that are tagged as made for the cluster.
    pub(super) templates: Vec<String>,
    /// Names of instance profiles below our path, each with its roles.
    pub(super) profiles: Vec<(String, Vec<String>)>,
}

/// Which program does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Kubectl,
    /// `kubectl` with manifests of ours on its standard input.
    KubectlWith(&'static str),
    Aws,
}

/// One command. Whatever it is to remove may be gone already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) program: Program,
    pub(super) words: Vec<String>,
}

fn kubectl(words: &str) -> Act {
    Act { program: Program::Kubectl, words: words.split(' ').map(ToOwned::to_owned).collect() }
}

fn aws(words: &str) -> Act {
    Act { program: Program::Aws, words: words.split(' ').map(ToOwned::to_owned).collect() }
}

/// The stack that a function is of: SAM names them `STACK-ProvisionFunction-…`.
fn stack(function: &Value) -> Option<&str> {
    let (stack, _) = text(function, "/FunctionName").split_once("-ProvisionFunction-")?;
    Some(stack)
}

/// All of it, or why it cannot be.
pub(super) fn acts(
    present: &Present,
    nodes: Nodes,
    definitions_go: bool,
) -> Result<Vec<Act>, String> {
    let Present { functions, pools, classes, claims, nodes: machines, templates, profiles } =
        present;
    let mut acts = Vec::new();
    match nodes {
        Nodes::End if functions.is_empty() && !(claims.is_empty() && machines.is_empty()) => {
            return Err(format!(
                "{} NodeClaims and {} nodes are there, and no function that could drain them: deploy the stack again, \
                 which adopts them, or say --keep-nodes.",
                claims.len(),
                machines.len()
            ));
        }
        Nodes::Stay if !functions.is_empty() => {
            return Err("The functions would take hold of the nodes again: delete the stack first (sam delete), then \
                        say --keep-nodes once more."
                .to_owned());
        }
        Nodes::Karpenters if definitions_go => {
            return Err("A Karpenter runs, and --definitions would take all of its objects away."
                .to_owned());
        }
        Nodes::End => {
            acts.extend(
                (!pools.is_empty())
                    .then(|| kubectl("delete nodepools.karpenter.sh --all --wait=false")),
            );
            // Those that a user made belong to no pool.
            acts.extend(
                (!claims.is_empty())
                    .then(|| kubectl("delete nodeclaims.karpenter.sh --all --wait=false")),
            );
            acts.extend(
                (!claims.is_empty()).then(|| {
                    kubectl("wait --for=delete nodeclaims.karpenter.sh --all --timeout=30m")
                }),
            );
            acts.extend(
                (!classes.is_empty())
                    .then(|| kubectl("delete ec2nodeclasses.karpenter.k8s.aws --all")),
            );
        }
        Nodes::Stay => {
            let release = r#"--type=merge --patch={"metadata":{"finalizers":null}}"#;
            let let_go = |kind: &str, object: &Value| {
                kubectl(&format!("patch {kind} {} {release}", name(object)))
            };
            acts.extend(machines.iter().map(|node| let_go("nodes", node)));
            acts.extend(claims.iter().map(|claim| let_go("nodeclaims.karpenter.sh", claim)));
            acts.extend(
                (!claims.is_empty()).then(|| kubectl("delete nodeclaims.karpenter.sh --all")),
            );
        }
        Nodes::Karpenters => {}
    }
    acts.extend(stacks(functions));
    // Nodes that stay need their profile, and Karpenter may use either.
    if nodes == Nodes::End {
        acts.extend(left_in_the_account(templates, profiles));
    }
    let delete = ["delete", "--ignore-not-found", "--filename", "-"].map(ToOwned::to_owned);
    let delete = |what| Act { program: Program::KubectlWith(what), words: delete.clone().into() };
    acts.push(delete("rbac"));
    acts.push(kubectl("delete lease journeyman --namespace=kube-system --ignore-not-found"));
    acts.extend(definitions_go.then(|| delete("crds")));
    Ok(acts)
}

/// Stacks of functions go, and then their tables, which outlive them.
fn stacks(functions: &[Value]) -> Vec<Act> {
    let mut acts = Vec::new();
    for stack in functions.iter().filter_map(stack) {
        acts.push(aws(&format!("cloudformation delete-stack --stack-name {stack}")));
        acts.push(aws(&format!("cloudformation wait stack-delete-complete --stack-name {stack}")));
    }
    let tables = functions.iter().filter(|function| stack(function).is_some());
    for table in
        tables.map(|function| text(function, "/Environment/Variables/JOURNEYMAN_TABLE_NAME"))
    {
        acts.push(aws(&format!(
            "dynamodb update-table --table-name {table} --no-deletion-protection-enabled"
        )));
        acts.push(aws(&format!("dynamodb wait table-exists --table-name {table}")));
        acts.push(aws(&format!("dynamodb delete-table --table-name {table}")));
    }
    acts
}

/// What functions made outside of their stack.
fn left_in_the_account(templates: &[String], profiles: &[(String, Vec<String>)]) -> Vec<Act> {
    let mut acts: Vec<Act> = Vec::new();
    acts.extend(
        templates
            .iter()
            .map(|id| aws(&format!("ec2 delete-launch-template --launch-template-id {id}"))),
    );
    for (profile, roles) in profiles {
        acts.extend(roles.iter().map(|role| {
            aws(&format!(
                "iam remove-role-from-instance-profile --instance-profile-name {profile} --role-name {role}"
            ))
        }));
        acts.push(aws(&format!("iam delete-instance-profile --instance-profile-name {profile}")));
    }
    acts
}
