//! What the cluster itself shows: the API server, definitions, rights, leases.

use std::collections::BTreeMap;

use api::objects::without_lease;
use handlers::Settings;
use jiff::{SignedDuration, Timestamp};
use model::{
    lease::{KARPENTER_LEASE, KarpenterLease, LEDGER_LEASE, LEDGER_LEASE_DURATION},
    limits::{NODES_PER_CLUSTER_MAX, NODES_PER_CLUSTER_NEAR, TOO_MANY_NODES_CURE},
    words,
};
use serde_json::Value;

use super::{
    super::observed::{Observed, items, name, text},
    Judged, StepFinding, StepVerdict,
    account::settings_of,
    told,
};
use crate::live::{Manifests, RoleArgs};

const READ_CURE: &str =
    "Use a kubeconfig whose user may read all objects of the cluster (--kubeconfig, --context).";

#[expect(clippy::unnecessary_wraps, reason = "all steps are checked by functions of one type")]
pub(super) fn api_server(seen: &Observed) -> Judged {
    let private = seen.eks.as_ref().ok().and_then(Option::as_ref).is_some_and(|cluster| {
        cluster.pointer("/resourcesVpcConfig/endpointPublicAccess") == Some(&Value::Bool(false))
    });
    Ok(match &seen.version {
        Ok(version) => StepVerdict::Done(format!("Kubernetes {}", text(version, "/gitVersion"))),
        Err(why) if private => StepVerdict::wrong(
            format!("The cluster's endpoint is private, and it cannot be reached from here: {why}"),
            "Run this command where the endpoint can be reached: in the cluster's VPC, or through a VPN to \
             it.",
        ),
        Err(why) => StepVerdict::wrong(
            why.clone(),
            format!(
                "aws eks update-kubeconfig --name {} writes a kubeconfig. --kubeconfig and --context select another \
                 one.",
                seen.cluster
            ),
        ),
    })
}

/// Of what is wanted: what is missing, and what differs.
fn compared(
    wanted: &BTreeMap<(String, String), Value>,
    there: &[Value],
    is_same: fn(&Value, &Value) -> bool,
) -> Vec<String> {
    let mut differences = Vec::new();
    for ((kind, object), wanted) in wanted {
        let known =
            there.iter().find(|other| name(other) == object && text(other, "/kind") == kind);
        match known {
            None => differences.push(format!("{kind} {object} is missing.")),
            Some(known) if !is_same(wanted, known) => {
                differences.push(format!("{kind} {object} is not that of this release."));
            }
            Some(_) => {}
        }
    }
    differences
}

/// Whether everything that `wanted` says stands in `there`, which may say more: the server fills defaults in.
fn says(wanted: &Value, there: &Value) -> bool {
    match (wanted, there) {
        (Value::Object(wanted), Value::Object(there)) => {
            wanted.iter().all(|(key, value)| there.get(key).is_some_and(|other| says(value, other)))
        }
        (Value::Array(wanted), Value::Array(there)) => {
            wanted.len() == there.len()
                && wanted.iter().zip(there).all(|(one, other)| says(one, other))
        }
        (wanted, there) => wanted == there,
    }
}

/// What brings objects of this release into the cluster.
fn install(seen: &Observed) -> String {
    format!("journeyman install {}", seen.cluster)
}

pub(super) fn definitions(seen: &Observed) -> Judged {
    let there = told(&seen.definitions, READ_CURE)?;
    let objects = Manifests::Crds.objects().unwrap_or_default();
    let wanted = objects.into_iter().map(|definition| {
        (("CustomResourceDefinition".to_owned(), name(&definition).to_owned()), definition)
    });
    let spec = |wanted: &Value, there: &Value| {
        says(wanted.get("spec").unwrap_or(&Value::Null), there.get("spec").unwrap_or(&Value::Null))
    };
    let wanted: BTreeMap<_, _> = wanted.collect();
    let done = format!("{} kinds", wanted.len());
    let differences = compared(&wanted, there, spec);
    Ok(StepVerdict::of(differences, done, install(seen)))
}

/// The objects of `roles`, by kind and name.
pub fn granted(roles: RoleArgs) -> BTreeMap<(String, String), Value> {
    let objects = roles.objects().unwrap_or_default();
    let keyed = objects
        .into_iter()
        .map(|object| ((text(&object, "/kind").to_owned(), name(&object).to_owned()), object));
    keyed.collect()
}

pub(super) fn rbac(seen: &Observed) -> Judged {
    let there = told(&seen.rbac, READ_CURE)?;
    let same = |wanted: &Value, there: &Value| {
        let parts = ["rules", "roleRef", "subjects", "spec"].into_iter();
        let mut parts = parts.filter_map(|part| Some((wanted.get(part)?, there.get(part))));
        parts.all(|(wanted, there)| there.is_some_and(|there| says(wanted, there)))
    };
    let roles = RoleArgs::of(&deployed_settings(seen).policies);
    let wanted = granted(roles);
    let done = format!("{} roles, bindings and flow schemas", wanted.len());
    let more = if roles.pod_deletion_costs { " --pod-deletion-costs" } else { "" };
    Ok(StepVerdict::of(compared(&wanted, there, same), done, install(seen) + more))
}

/// When a lease was renewed, and for how long that holds.
fn renewed(lease: &Value) -> Option<(Timestamp, SignedDuration)> {
    let at = text(lease, "/spec/renewTime").parse().ok()?;
    let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64);
    Some((at, SignedDuration::from_secs(seconds.unwrap_or_default())))
}

/// The namespaces of Karpenters that hold their lease at `now`.
pub fn karpenters(leases: &[Value], now: Timestamp) -> Vec<&str> {
    let is_held = |lease: &&Value| {
        let of_karpenter = |(renewed_at, duration)| KarpenterLease {
            namespace: text(lease, "/metadata/namespace").to_owned(),
            holder: text(lease, "/spec/holderIdentity").to_owned(),
            renewed_at,
            duration,
        };
        renewed(lease).map(of_karpenter).is_some_and(|lease| lease.is_held(now))
    };
    let held = leases.iter().filter(|lease| name(lease) == KARPENTER_LEASE).filter(is_held);
    held.map(|lease| text(lease, "/metadata/namespace")).collect()
}

/// What the functions are set to; the defaults where that cannot be read.
pub(super) fn deployed_settings(seen: &Observed) -> Settings {
    let deployed = seen.functions.as_ref().ok().and_then(|functions| functions.first());
    deployed.and_then(|function| settings_of(function).ok()).unwrap_or_default()
}

/// Whether the functions heed a Karpenter in `namespace`.
fn counts(seen: &Observed, namespace: &str) -> bool {
    deployed_settings(seen).karpenter_namespaces.contains(namespace)
}

pub(super) fn karpenter(seen: &Observed) -> Judged {
    let leases = told(&seen.leases, READ_CURE)?;
    let pods: Vec<_> =
        told(&seen.karpenter_pods, READ_CURE)?.iter().filter_map(without_lease).collect();
    let mut namespaces = karpenters(leases, seen.now);
    namespaces.extend(pods.iter().map(|pod| pod.namespace.as_str()));
    Ok(match namespaces.as_slice() {
        [] => StepVerdict::Done(
            "no Karpenter runs: its lease is free, and none of its pods runs without it".to_owned(),
        ),
        [namespace, ..] if !counts(seen, namespace) => StepVerdict::wrong(
            format!(
                "A Karpenter runs in the namespace {namespace}, which the stack's KarpenterNamespaces does not name: \
                 the functions act beside it."
            ),
            format!(
                "Add {namespace} to KarpenterNamespaces, or scale that Karpenter to no replicas."
            ),
        ),
        [namespace, ..] => StepVerdict::wrong(
            format!(
                "A Karpenter runs in the namespace {namespace}: as long as it does, the functions do nothing."
            ),
            format!(
                "To change over, run journeyman adopt {}. It scales Karpenter to zero and adopts its nodes.",
                seen.cluster
            ),
        ),
    })
}

/// The lease that the functions renew.
fn ledger_lease(leases: &[Value]) -> Option<&Value> {
    leases.iter().find(|lease| {
        name(lease) == LEDGER_LEASE && text(lease, "/metadata/namespace") == "kube-system"
    })
}

fn is_recent(beat: Timestamp, now: Timestamp) -> bool {
    now.duration_since(beat) < LEDGER_LEASE_DURATION
}

/// Whether the functions are at work at `now`.
pub(super) fn are_at_work(leases: &[Value], now: Timestamp) -> bool {
    let beat = ledger_lease(leases).and_then(renewed);
    beat.is_some_and(|(at, _)| is_recent(at, now))
}

/// Whether the functions work at `now`, and have done so since a Karpenter last renewed its lease.
pub fn have_resumed(leases: &[Value], now: Timestamp) -> bool {
    let held = leases.iter().filter(|lease| name(lease) == KARPENTER_LEASE).filter_map(renewed);
    let karpenter = held.map(|(at, _)| at).max();
    let beat = ledger_lease(leases).and_then(renewed).map(|(at, _)| at);
    are_at_work(leases, now) && karpenter < beat
}

pub(super) fn heartbeat(seen: &Observed) -> Judged {
    let leases = told(&seen.leases, READ_CURE)?;
    let has_karpenter =
        karpenters(leases, seen.now).into_iter().any(|namespace| counts(seen, namespace));
    if has_karpenter && !are_at_work(leases, seen.now) {
        return Ok(StepVerdict::NotNeeded("they wait while Karpenter runs".to_owned()));
    }
    let cure = "Look into the log of `sweep`: it holds the lease journeyman of kube-system, each minute. The log \
                groups are /journeyman/STACK/FUNCTION.";
    Ok(match ledger_lease(leases).map(renewed) {
        None => StepVerdict::wrong("No function was ever at work in this cluster.", cure),
        Some(None) => StepVerdict::Unknown(StepFinding {
            found: vec!["The lease journeyman of kube-system says no time.".to_owned()],
            cure: cure.to_owned(),
        }),
        Some(Some((at, _))) if is_recent(at, seen.now) => {
            StepVerdict::Done(format!("last seen at {at}"))
        }
        Some(Some((at, _))) => {
            StepVerdict::wrong(format!("No function was at work since {at}."), cure)
        }
    })
}

/// Whether some NodePool lets its nodes be spot instances.
pub(super) fn wants_spot(pools: &[Value]) -> bool {
    pools.iter().any(|pool| {
        let requirements = items(pool, "/spec/template/spec/requirements");
        requirements.iter().any(|requirement| {
            text(requirement, "/key") == "karpenter.sh/capacity-type"
                && text(requirement, "/operator") == "In"
                && items(requirement, "/values").iter().any(|value| value == "spot")
        })
    })
}

pub(super) fn nodes(seen: &Observed) -> Judged {
    let count = told(&seen.nodes, READ_CURE)?.count;
    let counted = words::counted(count, "node");
    if count < NODES_PER_CLUSTER_NEAR {
        return Ok(StepVerdict::Done(counted));
    }
    let most = words::many(NODES_PER_CLUSTER_MAX);
    Ok(StepVerdict::wrong(
        format!("The cluster has {counted}. Above {most} nodes, provisioning and disruption stop."),
        format!("{}.", words::capitalized(TOO_MANY_NODES_CURE)),
    ))
}
