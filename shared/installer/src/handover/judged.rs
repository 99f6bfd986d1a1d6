//! Whether a cluster may change hands, what that takes, and whether it has: worked out from what was seen.

use std::fmt;

use jiff::Timestamp;
use model::words;
use serde_json::Value;

use crate::{
    doctor::{
        judged,
        observed::{Observed, name, text},
        steps::{StepVerdict, have_resumed, karpenters},
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

/// How many NodeClaims there are.
fn counted(claims: &[Value]) -> String {
    words::counted(claims.len(), "NodeClaim")
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
            "The functions cannot take over yet, so Karpenter keeps running. `journeyman doctor {}` has the cures:\n{}",
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
            "Karpenter in the namespace {namespace} holds its lease, but has no Deployment with the label of its chart: \
             name the Deployment with --karpenter NAMESPACE/NAME."
        ));
    }
    let running = deployments.iter().filter(|deployment| replicas(deployment) > 0);
    Ok(Handover {
        what: format!(
            "Journeyman takes over {} with their nodes, which keep running. For two or three minutes no controller \
             launches nodes.",
            counted(claims)
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
        return Err(format!(
            "Waiting until the lease of Karpenter in the namespace {namespace} ends."
        ));
    }
    if !have_resumed(leases, *now) {
        return Err("Waiting for the first run of `sweep`.".to_owned());
    }
    let is_theirs = |claim: &&Value| {
        !text(claim, "/status/providerID").is_empty()
            && text(claim, "/metadata/labels/app.kubernetes.io~1managed-by") != "journeyman"
    };
    let theirs: Vec<&str> = claims.iter().filter(is_theirs).map(name).collect();
    if theirs.is_empty() {
        return Ok(format!("Journeyman manages {}.", counted(claims)));
    }
    Err(format!("Waiting for {} of {}: {}.", theirs.len(), counted(claims), listed(&theirs)))
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
            "These NodeClaims have no instance yet, and Karpenter would launch a second one: wait for {}.",
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
            "Karpenter recognizes nodes by their NodeClaims, and these have none: {}. `sweep` creates the NodeClaims \
             within two minutes.",
            listed(&unknown)
        ));
    }
    if deployments.is_empty() {
        return Err("Karpenter is not installed: install its chart first, with `replicas: 0`, the same cluster name, and \
                    a role for its controller."
            .to_owned());
    }
    let is_held = !karpenters(leases, seen.now).is_empty();
    let idle = deployments.iter().filter(|deployment| !is_held && replicas(deployment) == 0);
    Ok(Handover {
        what: format!(
            "Karpenter takes over {} with their nodes, which keep running. For a minute or two no controller launches \
             nodes.",
            counted(claims)
        ),
        scaled: idle.map(|deployment| scale(deployment, REPLICAS)).collect(),
    })
}

/// That Karpenter has the cluster, or what is waited for.
pub fn handed(Owned { now, leases, claims }: &Owned, cluster: &str) -> Result<String, String> {
    let Some(namespace) = karpenters(leases, *now).first().copied() else {
        return Err("Waiting until Karpenter takes its lease.".to_owned());
    };
    Ok(format!(
        "Karpenter in the namespace {namespace} manages {}. The functions stop within a minute. `journeyman uninstall \
         {cluster}` removes them and keeps the nodes.",
        counted(claims)
    ))
}
