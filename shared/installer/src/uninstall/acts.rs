//! What leaving takes, in its order, worked out from what was seen. Nothing is done here.

use std::fmt;

use model::{lease::LEDGER_LEASE, words::counted};
use serde_json::Value;

use crate::{
    doctor::observed::{name, text},
    live::{Manifests, ObjectKind, kinds},
    wake,
};

/// What becomes of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodesAfter {
    /// The functions drain and end them.
    End,
    /// They remain without a manager.
    Stay,
    /// Karpenter has them.
    Karpenters,
}

/// What there is.
#[derive(Clone, Debug, Default)]
pub struct Installed {
    /// The functions that are for the cluster.
    pub functions: Vec<Value>,
    /// Names of the tables that their stacks made; one that was given to a stack is none of them.
    pub tables: Vec<String>,
    /// NodePools.
    pub pools: Vec<Value>,
    /// EC2NodeClasses.
    pub classes: Vec<Value>,
    /// NodeClaims.
    pub claims: Vec<Value>,
    /// Nodes of NodePools.
    pub nodes: Vec<Value>,
    /// Ids of launch templates that are tagged as made for the cluster.
    pub templates: Vec<String>,
    /// Names of instance profiles below our path, each with its roles.
    pub profiles: Vec<(String, Vec<String>)>,
}

/// One step. Whatever it is to remove may be gone already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Every object of the kind is deleted. What has finalizers stays until they are gone.
    DeleteAll(ObjectKind),
    /// No object of the kind is left, after this number of minutes at most.
    WaitForNone(ObjectKind, u32),
    /// An object of the cluster has no finalizers: a deletion removes it at once.
    LetGo {
        /// The kind.
        kind: ObjectKind,
        /// The name.
        name: String,
    },
    /// The stack is asked to go.
    DeleteStack(String),
    /// It is gone.
    WaitForStack(String),
    /// The table may be deleted.
    UnprotectTable(String),
    /// It is gone, with all that was in it.
    DeleteTable(String),
    /// The launch template is gone.
    DeleteTemplate(String),
    /// The role is in the instance profile no more.
    RemoveRole {
        /// The instance profile.
        profile: String,
        /// The role.
        role: String,
    },
    /// The instance profile is gone.
    DeleteProfile(String),
    /// The API server calls `wake` no more, and kube-scheduler's events have the priority of all its requests.
    DeleteCalls,
    /// Objects that an installation put into the cluster are gone.
    DeleteManifests(Manifests),
    /// The functions' lease is gone.
    DeleteLease,
}

/// The namespace and the name of the functions' lease.
pub const LEASE: (&str, &str) = ("kube-system", LEDGER_LEASE);

/// As the command that does the same.
impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeleteAll(kind) => write!(f, "kubectl delete {kind} --all --wait=false"),
            Self::WaitForNone(kind, minutes) => {
                write!(f, "kubectl wait --for=delete {kind} --all --timeout={minutes}m")
            }
            Self::LetGo { kind, name } => write!(
                f,
                r#"kubectl patch {kind} {name} --type=merge --patch={{"metadata":{{"finalizers":null}}}}"#
            ),
            Self::DeleteStack(stack) => {
                write!(f, "aws cloudformation delete-stack --stack-name {stack}")
            }
            Self::WaitForStack(stack) => {
                write!(f, "aws cloudformation wait stack-delete-complete --stack-name {stack}")
            }
            Self::UnprotectTable(table) => write!(
                f,
                "aws dynamodb update-table --table-name {table} --no-deletion-protection-enabled"
            ),
            Self::DeleteTable(table) => write!(f, "aws dynamodb delete-table --table-name {table}"),
            Self::DeleteTemplate(id) => {
                write!(f, "aws ec2 delete-launch-template --launch-template-id {id}")
            }
            Self::RemoveRole { profile, role } => write!(
                f,
                "aws iam remove-role-from-instance-profile --instance-profile-name {profile} --role-name {role}"
            ),
            Self::DeleteProfile(profile) => {
                write!(f, "aws iam delete-instance-profile --instance-profile-name {profile}")
            }
            Self::DeleteManifests(manifests) => write!(
                f,
                "journeyman {} | kubectl delete --ignore-not-found --filename -",
                manifests.command()
            ),
            Self::DeleteCalls => f.write_str(&wake::removal()),
            Self::DeleteLease => {
                let (namespace, name) = LEASE;
                write!(f, "kubectl delete lease {name} --namespace={namespace} --ignore-not-found")
            }
        }
    }
}

/// The stack that a function is of: SAM names them `STACK-ProvisionFunction-…`.
pub fn stack(function: &Value) -> Option<&str> {
    let (stack, _) = text(function, "/FunctionName").split_once("-ProvisionFunction-")?;
    Some(stack)
}

/// All of it, where `minutes` are waited for objects that go, or why it cannot be.
pub fn acts(
    present: &Installed,
    nodes: NodesAfter,
    definitions_go: bool,
    minutes: u32,
) -> Result<Vec<Act>, String> {
    let Installed { functions, tables, pools, classes, claims, nodes: machines, .. } = present;
    let mut acts = Vec::new();
    match nodes {
        NodesAfter::End if functions.is_empty() && !(claims.is_empty() && machines.is_empty()) => {
            return Err(format!(
                "The cluster has {} and {}, and no function that could drain them: deploy the stack again, which adopts \
                 them, or say --keep-nodes.",
                counted(claims.len(), "NodeClaim"),
                counted(machines.len(), "node")
            ));
        }
        NodesAfter::Stay if !functions.is_empty() => {
            return Err("The functions would take hold of the nodes again: delete the stack first (sam delete), then \
                        say --keep-nodes once more."
                .to_owned());
        }
        NodesAfter::Karpenters if definitions_go => {
            return Err("A Karpenter runs, and --definitions would take all of its objects away."
                .to_owned());
        }
        NodesAfter::End => {
            acts.extend((!pools.is_empty()).then_some(Act::DeleteAll(kinds::NODE_POOLS)));
            // Those that a user made belong to no pool.
            acts.extend((!claims.is_empty()).then_some(Act::DeleteAll(kinds::NODE_CLAIMS)));
            acts.extend(
                (!claims.is_empty()).then_some(Act::WaitForNone(kinds::NODE_CLAIMS, minutes)),
            );
            acts.extend((!classes.is_empty()).then_some(Act::DeleteAll(kinds::NODE_CLASSES)));
            // The functions take their finalizers off, and go only then.
            acts.extend(
                (!classes.is_empty()).then_some(Act::WaitForNone(kinds::NODE_CLASSES, minutes)),
            );
        }
        NodesAfter::Stay => {
            let let_go = |kind, object: &Value| Act::LetGo { kind, name: name(object).to_owned() };
            acts.extend(machines.iter().map(|node| let_go(kinds::NODES, node)));
            acts.extend(claims.iter().map(|claim| let_go(kinds::NODE_CLAIMS, claim)));
            acts.extend((!claims.is_empty()).then_some(Act::DeleteAll(kinds::NODE_CLAIMS)));
        }
        NodesAfter::Karpenters => {}
    }
    // While the stack goes, calls would only be waited for.
    acts.push(Act::DeleteCalls);
    acts.extend(stacks(functions, tables));
    // Nodes that stay need their profile, and Karpenter may use either.
    if nodes == NodesAfter::End {
        acts.extend(left_in_the_account(&present.templates, &present.profiles));
    }
    acts.extend([Manifests::DeletionCosts, Manifests::Rbac].map(Act::DeleteManifests));
    acts.push(Act::DeleteLease);
    acts.extend(definitions_go.then_some(Act::DeleteManifests(Manifests::Crds)));
    Ok(acts)
}

/// Stacks of functions go, and then their tables, which outlive them.
fn stacks(functions: &[Value], tables: &[String]) -> Vec<Act> {
    let mut acts = Vec::new();
    for stack in functions.iter().filter_map(stack) {
        acts.push(Act::DeleteStack(stack.to_owned()));
        acts.push(Act::WaitForStack(stack.to_owned()));
    }
    for table in tables {
        acts.push(Act::UnprotectTable(table.clone()));
        acts.push(Act::DeleteTable(table.clone()));
    }
    acts
}

/// What functions made outside of their stack.
fn left_in_the_account(templates: &[String], profiles: &[(String, Vec<String>)]) -> Vec<Act> {
    let mut acts: Vec<Act> = templates.iter().map(|id| Act::DeleteTemplate(id.clone())).collect();
    for (profile, roles) in profiles {
        let remove =
            |role: &String| Act::RemoveRole { profile: profile.clone(), role: role.clone() };
        acts.extend(roles.iter().map(remove));
        acts.push(Act::DeleteProfile(profile.clone()));
    }
    acts
}
