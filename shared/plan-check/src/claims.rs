//! New claims are really new, unique, what their pool asks for, and launchable in their batch.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, ClaimPhase, NodeClaim, NodeClaimName, Plan, Requirement, Requirements, Taint,
    facts::ClassOffer,
    limits::{CLAIMS_PER_BATCH_MAX, NODES_PER_CLUSTER_MAX, PODS_PER_COMMIT_MAX},
    node_class::Obstacle,
    node_pool::NodePool,
};

use crate::{
    Violation, node_labels,
    world::{World, labels_of},
};

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let ledger = &world.facts.ledger.claims;
    let mut names: BTreeSet<&NodeClaimName> = BTreeSet::new();
    for new in &plan.new_claims {
        let claim = &new.claim;
        if !names.insert(&claim.name) {
            violations.push(Violation::ClaimTwice(claim.name.clone()));
        }
        if ledger.contains_key(&claim.name) {
            violations.push(Violation::ClaimExists(claim.name.clone()));
        }
        let is_static = world.is_static(&claim.node_pool) || world.is_static_replacement(claim);
        if claim.pods.is_empty() && !is_static {
            violations.push(Violation::ClaimForNothing(claim.name.clone()));
        }
        for why in not_new(claim) {
            violations.push(Violation::ClaimNotNew { claim: claim.name.clone(), why });
        }
        check_class(world, claim, violations);
        check_pool(world, claim, violations);
        node_labels::check(claim, violations);
    }
    let claims = ledger.len() + plan.new_claims.len();
    if !plan.new_claims.is_empty() && NODES_PER_CLUSTER_MAX < claims {
        violations.push(Violation::TooManyClaims { claims, claims_max: NODES_PER_CLUSTER_MAX });
    }
    check_batches(world, plan, violations);
}

fn not_new(claim: &NodeClaim) -> Vec<String> {
    let mut why = Vec::new();
    if claim.version != 1 {
        why.push(format!("its version is {}, not 1", claim.version));
    }
    if claim.phase != ClaimPhase::Created {
        why.push(format!("its phase is {}, not created", claim.phase));
    }
    if claim.instance.is_some() || claim.node.is_some() || claim.requested_at.is_some() {
        why.push("it has an instance or a node, or was asked for".to_owned());
    }
    if claim.deletion.is_some() || claim.empty_since.is_some() {
        why.push("it is deleted or empty already".to_owned());
    }
    why
}

fn check_class(world: &World<'_>, claim: &NodeClaim, violations: &mut Vec<Violation>) {
    let class =
        world.facts.classes.as_ref().map(|class_offers| class_offers.get(&claim.node_class));
    let why = match class {
        Some(Some(ClassOffer::Ready(_))) => return,
        Some(Some(ClassOffer::NotReady(obstacles))) => {
            format!("is not ready: {}", Obstacle::in_words(obstacles))
        }
        Some(None) => "does not exist".to_owned(),
        None => "was not looked at".to_owned(),
    };
    let (node_class, claim) = (claim.node_class.clone(), claim.name.clone());
    violations.push(Violation::ClassUnusable { claim, node_class, why });
}

fn check_pool(world: &World<'_>, claim: &NodeClaim, violations: &mut Vec<Violation>) {
    let unusable = |why: String| Violation::PoolUnusable {
        claim: claim.name.clone(),
        node_pool: claim.node_pool.clone(),
        why,
    };
    let Some(pool) = world.pools.get(&claim.node_pool) else {
        violations.push(unusable("does not exist".to_owned()));
        return;
    };
    if pool.is_deleting {
        violations.push(unusable("is being deleted".to_owned()));
    }
    if pool.replicas.is_some() && !claim.pods.is_empty() {
        violations.push(unusable("is static and takes no pending pods".to_owned()));
    } else if pool.replicas.is_some()
        && !world.is_static(&pool.name)
        && !world.is_static_replacement(claim)
    {
        violations.push(unusable("is static, and the gate StaticCapacity is closed".to_owned()));
    }
    if let Some(problem) = pool.problems.first() {
        violations.push(unusable(format!("is not ready: {problem}")));
    }
    for why in differences(claim, pool) {
        let (claim, node_pool) = (claim.name.clone(), claim.node_pool.clone());
        violations.push(Violation::ClaimUnlikePool { claim, node_pool, why });
    }
}

/// What the claim has not from its pool's template.
fn differences(claim: &NodeClaim, pool: &NodePool) -> Vec<String> {
    let template = &pool.template;
    let mut why = Vec::new();
    if claim.node_class != template.node_class {
        why.push(format!("its EC2NodeClass is {}", claim.node_class));
    }
    if !same(&claim.taints, &template.taints) {
        why.push("its taints are others".to_owned());
    }
    if !same(&claim.startup_taints, &template.startup_taints) {
        why.push("its startup taints are others".to_owned());
    }
    if claim.expire_after != template.expire_after {
        why.push("its expireAfter is another".to_owned());
    }
    if claim.termination_grace_period != template.termination_grace_period {
        why.push("its terminationGracePeriod is another".to_owned());
    }
    for (key, value) in &template.labels {
        if claim.labels.get(key) != Some(value) {
            why.push(format!("it lacks the label {key}={value}"));
        }
    }
    let requirements = labels_of(claim);
    for wanted in template.requirements.iter() {
        if !is_within(&requirements, wanted) {
            why.push(format!("it may have other labels than {wanted}"));
        }
    }
    why
}

fn same(a: &[Taint], b: &[Taint]) -> bool {
    a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>()
}

/// Whether every value that `own` leaves for the label is one of `wanted`.
fn is_within(requirements: &Requirements, wanted: &Requirement) -> bool {
    let Some(requirement) = requirements.get(wanted.key().as_str()) else { return false };
    let plain = requirement.clone().with_min_values(None);
    plain.intersection(&wanted.clone().with_min_values(None)) == plain
}

/// One CreateFleet request per batch: its claims must be interchangeable, and their places those of
/// its instances.
fn check_batches(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let mut batches: BTreeMap<&BatchId, Vec<&NodeClaim>> = BTreeMap::new();
    for new in &plan.new_claims {
        batches.entry(&new.claim.batch).or_default().push(&new.claim);
    }
    let taken: BTreeSet<&BatchId> =
        world.facts.ledger.claims.values().map(|claim| &claim.batch).collect();
    for (batch, claims) in batches {
        let mut refuse =
            |why: String| violations.push(Violation::Batch { batch: batch.clone(), why });
        if taken.contains(batch) {
            refuse("claims that exist were launched in it".to_owned());
        }
        if CLAIMS_PER_BATCH_MAX < claims.len() {
            refuse(format!("it has {} claims, at most {CLAIMS_PER_BATCH_MAX} fit", claims.len()));
        }
        let pods: usize = claims.iter().map(|claim| claim.pods.len()).sum();
        if PODS_PER_COMMIT_MAX < pods {
            refuse(format!("it is for {pods} pods, at most {PODS_PER_COMMIT_MAX} fit a commit"));
        }
        let Some(first) = claims.first() else { continue };
        for claim in &claims {
            if !is_alike(first, claim) {
                refuse(format!("{} is unlike {}", claim.name, first.name));
            }
            if usize::try_from(claim.batch_size) != Ok(claims.len()) {
                let (stated, actual) = (claim.batch_size, claims.len());
                refuse(format!("{} states {stated} claims, it has {actual}", claim.name));
            }
        }
        let mut places: Vec<u32> = claims.iter().map(|claim| claim.batch_index).collect();
        places.sort_unstable();
        if !(0..).zip(&places).all(|(index, place): (u32, &u32)| index == *place) {
            refuse("its places are not 0, 1, 2, …".to_owned());
        }
    }
}

fn is_alike(first: &NodeClaim, other: &NodeClaim) -> bool {
    let renamed = NodeClaim {
        name: first.name.clone(),
        batch_index: first.batch_index,
        batch_size: first.batch_size,
        requests: first.requests.clone(),
        pods: first.pods.clone(),
        ..other.clone()
    };
    *first == renamed
}
