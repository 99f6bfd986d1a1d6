//! Whether a cluster may change hands, what that takes, and whether it has: worked out from what was seen.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    doctor::{
        judged,
        observed::{Observed, name, text},
        steps::{StepVerdict, are_at_work, karpenters},
    },
    live::LiveAnswer,
};

/// Steps of `doctor` that adoption relies on; the others are about what comes after it.
const NEEDED: [&str; 8] =
    ["api-server", "eks", "definitions", "rbac", "functions", "release", "settings", "access"];

/// Replicas of Karpenter's chart. <https://github.com/aws/karpenter-provider-aws/tree/main/charts/karpenter>
const REPLICAS: u32 = 2;

/// Names that one sentence lists.
const NAMED_MAX: usize = 5;

/// What a change of hands takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// What will happen, in words.
    pub what: String,
    /// The Deployments that are scaled.
    pub scaled: Vec<Scale>,
}

/// A Deployment, and how many replicas it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Replicas it gets.
    pub replicas: u32,
}

/// As the command that does the same.
impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, replicas } = self;
        write!(f, "kubectl scale deployment {name} --namespace={namespace} --replicas={replicas}")
    }
}

/// The first few names, and how many more there are.
fn listed(names: &[&str]) -> String {
    let shown = names.get(..NAMED_MAX.min(names.len())).unwrap_or_default().join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn scale(deployment: &Value, replicas: u32) -> Scale {
    let namespace = text(deployment, "/metadata/namespace").to_owned();
    Scale { namespace, name: name(deployment).to_owned(), replicas }
}

/// Replicas that a Deployment asks for; one, unless it says another number.
fn replicas(deployment: &Value) -> u64 {
    deployment.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1)
}

/// What adoption takes, or why it cannot be.
pub fn adoption(seen: &Observed, deployments: &[Value]) -> Result<Handover, String> {
    let mut missing = Vec::new();
    for (step, verdict) in judged(seen).iter().filter(|(step, _)| NEEDED.contains(&step.id)) {
        if let StepVerdict::Wrong(finding) | StepVerdict::Unknown(finding) = verdict {
            missing.push(format!("{}: {}", step.id, finding.found.join(" ")));
        }
    }
    if !missing.is_empty() {
        return Err(format!(
            "The functions could not take over, and Karpenter was left as it is. `journeyman doctor {}` has the \
             cures:\n{}",
            seen.cluster,
            missing.join("\n")
        ));
    }
    let claims = seen.claims.as_ref().map_err(Clone::clone)?;
    let leases = seen.leases.as_ref().map_err(Clone::clone)?;
    if let Some(namespace) = karpenters(leases, seen.now).first()
        && deployments.is_empty()
    {
        return Err(format!(
            "A Karpenter in the namespace {namespace} holds its lease, and no Deployment of it was found: name it \
             with --karpenter NAMESPACE/NAME."
        ));
    }
    let running = deployments.iter().filter(|deployment| replicas(deployment) > 0);
    Ok(Handover {
        what: format!(
            "{} NodeClaims change hands with their nodes, as they are. Nobody provisions for a minute or two.",
            claims.len()
        ),
        scaled: running.map(|deployment| scale(deployment, 0)).collect(),
    })
}

/// What shows who has the nodes.
#[derive(Debug)]
pub struct Owned {
    /// The present.
    pub now: Timestamp,
    /// Leases of all namespaces.
    pub leases: Vec<Value>,
    /// NodeClaims.
    pub claims: Vec<Value>,
}

impl Owned {
    /// Of what was read, or what cannot be read.
    pub fn of(
        now: Timestamp,
        leases: LiveAnswer<Vec<Value>>,
        claims: LiveAnswer<Vec<Value>>,
    ) -> LiveAnswer<Self> {
        let leases = leases.map_err(|why| format!("Leases cannot be read: {why}"))?;
        let claims = claims.map_err(|why| format!("NodeClaims cannot be read: {why}"))?;
        Ok(Self { now, leases, claims })
    }
}

/// That Journeyman has every NodeClaim with an instance, or what is waited for.
pub fn adopted(Owned { now, leases, claims }: &Owned) -> Result<String, String> {
    if let Some(namespace) = karpenters(leases, *now).first() {
        return Err(format!("The lease of the Karpenter in the namespace {namespace} has to end."));
    }
    if !are_at_work(leases, *now) {
        return Err("The functions have to be at work.".to_owned());
    }
    let is_theirs = |claim: &&Value| {
        !text(claim, "/status/providerID").is_empty()
            && text(claim, "/metadata/labels/app.kubernetes.io~1managed-by") != "journeyman"
    };
    let theirs: Vec<&str> = claims.iter().filter(is_theirs).map(name).collect();
    if theirs.is_empty() {
        return Ok(format!("Journeyman has all {} NodeClaims.", claims.len()));
    }
    Err(format!("{} of {} NodeClaims are left: {}.", theirs.len(), claims.len(), listed(&theirs)))
}

/// What giving back takes, or why it cannot be.
pub fn release(
    seen: &Observed,
    deployments: &[Value],
    nodes: &[Value],
) -> Result<Handover, String> {
    let claims = seen.claims.as_ref().map_err(Clone::clone)?;
    let leases = seen.leases.as_ref().map_err(Clone::clone)?;
    let launching: Vec<&str> = claims
        .iter()
        .filter(|claim| text(claim, "/status/providerID").is_empty())
        .map(name)
        .collect();
    if !launching.is_empty() {
        return Err(format!(
            "Launches are on their way, and Karpenter would launch them once more: wait for {}.",
            listed(&launching)
        ));
    }
    let is_shown = |node: &&Value| {
        let id = text(node, "/spec/providerID");
        claims.iter().any(|claim| text(claim, "/status/providerID") == id)
    };
    let ours = nodes.iter().filter(|node| {
        !text(node, "/metadata/labels/karpenter.sh~1nodepool").is_empty() && !is_shown(node)
    });
    let unknown: Vec<&str> = ours.map(name).collect();
    if !unknown.is_empty() {
        return Err(format!(
            "Karpenter knows nodes by their NodeClaims, and these have none: {}. Wait until `sweep` has shown them, a \
             minute or two.",
            listed(&unknown)
        ));
    }
    if deployments.is_empty() {
        return Err("There is no Karpenter to give the nodes to: install its chart first, with `replicas: 0`, the same \
                    cluster name, and a role for its controller."
            .to_owned());
    }
    let is_held = !karpenters(leases, seen.now).is_empty();
    let idle = deployments.iter().filter(|deployment| !is_held && replicas(deployment) == 0);
    Ok(Handover {
        what: format!(
            "{} NodeClaims change hands with their nodes, as they are. Nobody provisions for a minute or two.",
            claims.len()
        ),
        scaled: idle.map(|deployment| scale(deployment, REPLICAS)).collect(),
    })
}

/// That Karpenter has the cluster, or what is waited for.
pub fn handed(Owned { now, leases, claims }: &Owned, cluster: &str) -> Result<String, String> {
    let Some(namespace) = karpenters(leases, *now).first().copied() else {
        return Err("Karpenter has to take its lease.".to_owned());
    };
    Ok(format!(
        "The Karpenter in the namespace {namespace} has {} NodeClaims. A minute from now on the functions write nothing \
         more; `journeyman uninstall {cluster}` takes them away and leaves the nodes.",
        claims.len()
    ))
}
