//! What a pass tells people of what it decided: events of Kubernetes, as Karpenter's controllers publish them.
//!
//! Pure: the publisher decides how often an event is repeated.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodeClaimName, NodeName, NodePoolName, Plan, Pod,
    PodKey, Zone,
    disruption::{DisruptionReason, Progress},
    event::{EventObject, EventReason, ObjectEvent},
    join::JoinFinding,
    labels,
    ledger::{RejectionReason, Snapshot},
    node::Eviction,
    node_class::ListedNodeClass,
    node_pool::NodePool,
    plan::{Target, Unplaced},
    words,
};

use crate::{Answer, disruption::Objection};

/// A new EC2NodeClass is resolved and checked within this time.
const RESOLVED_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// Of pods that a plan made at `now` is about: where they go, and why others find no place.
///
/// While the EC2NodeClass of a NodePool is not resolved, nothing is said of pods that may go there and are younger than
/// five minutes.
///
/// Karpenter: `pkg/controllers/provisioning/scheduling/events.go`. It leaves such NodePools out.
#[must_use]
pub fn of_pods(plan: &Plan, pods: &[Pod], now: Timestamp) -> Vec<ObjectEvent> {
    let by_key: BTreeMap<&PodKey, &Pod> = pods.iter().map(|pod| (&pod.key, pod)).collect();
    let about = |key: &PodKey| {
        let pod = by_key.get(key)?;
        Some(EventObject::Pod(pod.key.clone(), Some(pod.uid.clone())))
    };
    let waits = |unplaced: &Unplaced| {
        let mut reasons = unplaced.reasons.iter();
        reasons.any(|reason| reason.reason == RejectionReason::ClassUnresolved)
            && by_key
                .get(&unplaced.pod)
                .is_some_and(|pod| now.duration_since(pod.created_at) < RESOLVED_WITHIN)
    };
    let unplaced =
        plan.unplaced.iter().filter(|unplaced| !waits(unplaced)).filter_map(|unplaced| {
            let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
            let why = format!("no node for it: {}", reasons.join("; "));
            Some(ObjectEvent::new(about(&unplaced.pod)?, EventReason::FailedScheduling, why))
        });
    let nominated = |pods: &[PodKey], place: String| {
        let objects: Vec<EventObject> = pods.iter().filter_map(about).collect();
        objects.into_iter().map(move |object| {
            ObjectEvent::new(object, EventReason::Nominated, format!("it should go onto {place}"))
        })
    };
    let created = plan
        .new_claims
        .iter()
        .flat_map(|new| nominated(&new.claim.pods, format!("nodeclaim/{}", new.claim.name)));
    let placed = plan.placements.iter().flat_map(|placement| {
        let place = match &placement.target {
            Target::Node(node) => format!("node/{node}"),
            Target::Claim(claim) => format!("nodeclaim/{claim}"),
        };
        nominated(&placement.pods, place)
    });
    unplaced.chain(created).chain(placed).collect()
}

/// Of NodePools that no instance type fits: why, by the name of the NodePool.
///
/// Karpenter: `pkg/controllers/provisioning/scheduling/events.go`.
#[must_use]
pub fn of_pools_without_types(pools: &BTreeMap<NodePoolName, String>) -> Vec<ObjectEvent> {
    let event = |(name, why): (&NodePoolName, &String)| {
        let about = EventObject::NodePool(name.clone());
        let why = format!("it launches nothing: {why}");
        ObjectEvent::new(about, EventReason::NoCompatibleInstanceTypes, why)
    };
    pools.iter().map(event).collect()
}

/// Has the events of `answer` say that pods of its plan have no place in `sound`, which is what the judge left of it.
pub fn tell_left_out(answer: &mut Answer, sound: &Plan, pods: &[Pod]) {
    let placed = |plan: &Plan| -> BTreeSet<PodKey> {
        let created = plan.new_claims.iter().flat_map(|new| &new.claim.pods);
        created.chain(plan.placements.iter().flat_map(|p| &p.pods)).cloned().collect()
    };
    let left_out = &placed(&answer.plan) - &placed(sound);
    let is_left_out = |about: &EventObject| match about {
        EventObject::Pod(key, _) => left_out.contains(key),
        _ => false,
    };
    answer.events.retain(|event| !is_left_out(&event.about));
    let pods = pods.iter().filter(|pod| left_out.contains(&pod.key));
    answer.events.extend(pods.map(|pod| {
        let about = EventObject::Pod(pod.key.clone(), Some(pod.uid.clone()));
        let why = "the place that was found for it breaks a rule, which is a bug: the log has it (InvalidPlan)";
        ObjectEvent::new(about, EventReason::FailedScheduling, why)
    }));
}

/// Why a NodeClaim of another writer cannot be taken over.
#[must_use]
pub fn of_refused_adoption(claim: &NodeClaimName, why: &str) -> ObjectEvent {
    let why = format!("it cannot be adopted, and is tried again: {why}");
    ObjectEvent::new(EventObject::NodeClaim(claim.clone()), EventReason::FailedAdoption, why)
}

/// Of claims that methods of disruption delete, of those that replace others and are not there yet, and of those
/// whose nodes turned out to be too small.
///
/// Karpenter: `pkg/controllers/disruption/queue.go`.
#[must_use]
pub fn of_commands(ledger: &Snapshot, plan: &Plan) -> Vec<ObjectEvent> {
    let deleted = plan.changes.iter().filter_map(|claim| {
        let deletion = claim.deletion.as_ref().filter(|_| claim.is_deleting())?;
        let DeletionReason::Disrupted(reason) = deletion.reason else { return None };
        Some((claim, reason))
    });
    let terminating = deleted.flat_map(|(claim, reason)| {
        let message = format!("it is disrupted: {}", reason.as_str());
        ObjectEvent::of_both(claim, EventReason::DisruptionTerminating, message)
    });
    let replacements = ledger.commands.values().flat_map(|command| {
        let names = match &command.progress {
            Progress::Launching { claims, .. } => claims.as_slice(),
            Progress::Found
            | Progress::Rebooting { .. }
            | Progress::RolledBack { .. }
            | Progress::Moved { .. }
            | Progress::Halted(_)
            | Progress::Accepted(_) => &[],
        };
        let claims = names.iter().filter_map(|name| ledger.claims.get(name));
        let awaited = claims.filter(|claim| claim.phase < ClaimPhase::Initialized);
        awaited.map(move |claim| (claim, command.method.reason()))
    });
    let awaited = replacements.flat_map(|(claim, reason)| {
        let object = || EventObject::NodeClaim(claim.name.clone());
        let launching = format!("it is launched in place of others: {}", reason.as_str());
        [
            ObjectEvent::new(object(), EventReason::DisruptionLaunching, launching),
            ObjectEvent::new(
                object(),
                EventReason::DisruptionWaitingReadiness,
                "those that it replaces wait until it is ready",
            ),
        ]
    });
    let inconsistent = plan.changes.iter().filter_map(|claim| {
        let why = claim.conditions.inconsistent.as_ref()?;
        let stored = ledger.claims.get(&claim.name)?;
        stored.conditions.inconsistent.is_none().then(|| {
            let about = EventObject::NodeClaim(claim.name.clone());
            ObjectEvent::new(about, EventReason::FailedConsistencyCheck, why)
        })
    });
    let halted = plan.started.values().filter_map(|command| {
        let halt = command.progress.halt()?;
        let about = EventObject::NodePool(halt.target.node_pool.clone());
        let message = format!("the rollout is halted ({}): {}", halt.target, halt.why);
        Some(ObjectEvent::new(about, EventReason::RolloutHalted, message))
    });
    terminating.chain(awaited).chain(inconsistent).chain(halted).collect()
}

/// Of nodes that stay, each with why: of those in `notes` a method for `reason` says it, of those in
/// `ineligible`, where claims without a node are, too, all methods.
///
/// Karpenter: `pkg/controllers/disruption/events`.
#[must_use]
pub fn of_staying(
    ledger: &Snapshot,
    reason: DisruptionReason,
    notes: &BTreeMap<NodeName, Objection>,
    ineligible: &BTreeMap<String, Objection>,
) -> Vec<ObjectEvent> {
    let claims = ledger.claims.values();
    let joined = claims.clone().filter_map(|claim| Some((claim.node.as_ref()?.as_str(), claim)));
    let claims_by_name: BTreeMap<&str, &NodeClaim> =
        claims.map(|claim| (claim.name.as_str(), claim)).chain(joined).collect();
    let of = |name: &str, objection: &Objection, is_ineligible: bool| {
        let (claim, said) = (claims_by_name.get(name)?, said(objection, reason, is_ineligible)?);
        let is_blocked = matches!(said, Said::OfBoth(EventReason::DisruptionBlocked));
        let why = match claim.conditions.drifted.as_ref().filter(|_| is_blocked) {
            Some(drift) => format!("it has drifted ({drift}), and is not replaced: {objection}"),
            None => objection.to_string(),
        };
        Some((*claim, said, why))
    };
    let ineligible = ineligible.iter().filter_map(|(name, why)| of(name, why, true));
    let notes = notes.iter().filter_map(|(name, why)| of(name.as_str(), why, false));
    let mut events = Vec::new();
    for (claim, said, why) in ineligible.chain(notes) {
        match said {
            Said::OfBoth(reason) => events.extend(ObjectEvent::of_both(claim, reason, why)),
            Said::OfPool(why) => events.push(ObjectEvent::new(
                EventObject::NodePool(claim.node_pool.clone()),
                EventReason::DisruptionBlocked,
                why,
            )),
        }
    }
    events
}

/// How an objection is said.
enum Said {
    /// Of the node and its claim.
    OfBoth(EventReason),
    /// Of the NodePool: why its budgets allow none.
    OfPool(String),
}

fn said(objection: &Objection, reason: DisruptionReason, is_ineligible: bool) -> Option<Said> {
    use Objection as O;
    let is_cost = reason == DisruptionReason::Underutilized;
    let event = match objection {
        O::ManyIll(_) => EventReason::NodeRepairBlocked,
        O::BudgetSpent(reason, why) => {
            let reason = reason.as_str();
            let why = format!("its disruption budgets allow none for the reason {reason}: {why}");
            return Some(Said::OfPool(why));
        }
        O::UnreadableBudget(why) => {
            return Some(Said::OfPool(format!("its nodes are not disrupted: {why}")));
        }
        O::UnreadableRollout(..) => return Some(Said::OfPool(objection.to_string())),
        O::Unmanaged | O::OfAutoMode | O::AlreadyGoing => return None,
        _ if is_ineligible => EventReason::DisruptionBlocked,
        O::NeverConsolidated(_)
        | O::UnknownInstanceType
        | O::NoLabel(_)
        | O::OnlyWhenEmpty(_)
        | O::NoPlace { .. }
        | O::Stuck(_)
        | O::ManyNodes(_)
        | O::NotCheaper(_)
        | O::SavesLittle(_)
        | O::YieldsLittle { .. }
        | O::MovedLately(_)
        | O::ManyMoves(_)
        | O::MinValues
        | O::SpotGate
        | O::FewSpotTypes(_)
        | O::SameType
        | O::NoReadyNodePool
            if is_cost =>
        {
            EventReason::Unconsolidatable
        }
        O::NoPlace { .. } | O::Stuck(_) | O::NoReadyNodePool | O::AtNodeLimit | O::Immovable(_) => {
            EventReason::DisruptionBlocked
        }
        _ => return None,
    };
    Some(Said::OfBoth(event))
}

/// Of pods on nodes of `ledger` that stay, whose annotation `karpenter.sh/do-not-disrupt` protects nothing: what to
/// write. Of the pods of one owner the first says it.
///
/// Karpenter: `pkg/utils/pod/events.go`.
#[must_use]
pub fn of_annotations(ledger: &Snapshot, pods: &[Pod]) -> Vec<ObjectEvent> {
    let replaced = ledger.being_replaced();
    let stays = |claim: &&NodeClaim| !claim.is_deleting() && !replaced.contains(&claim.name);
    let nodes: BTreeSet<&NodeName> =
        ledger.claims.values().filter(stays).filter_map(|claim| claim.node.as_ref()).collect();
    let is_asked = |pod: &&Pod| {
        !pod.is_terminal()
            && !pod.is_terminating()
            && pod.node.as_ref().is_some_and(|node| nodes.contains(node))
    };
    let mut owners = BTreeSet::new();
    let event = |pod: &Pod| {
        let why = pod.spec.ineffective_do_not_disrupt()?;
        if pod.workload().is_some_and(|owner| !owners.insert(owner)) {
            return None;
        }
        let about = EventObject::Pod(pod.key.clone(), Some(pod.uid.clone()));
        let reason = EventReason::InvalidDoNotDisruptAnnotation;
        Some(ObjectEvent::new(about, reason, format!("its {why}")))
    };
    pods.iter().filter(is_asked).filter_map(event).collect()
}

/// Of a claim that was deleted just now: when its node ends at last, and what AWS did to its instance.
///
/// Karpenter: `pkg/controllers/interruption/events` of the AWS provider, and
/// `pkg/controllers/node/termination/terminator/events`.
#[must_use]
pub fn of_deleted(claim: &NodeClaim) -> Vec<ObjectEvent> {
    let Some(deletion) = &claim.deletion else { return Vec::new() };
    let interruption = match deletion.reason {
        DeletionReason::SpotInterrupted => {
            Some((EventReason::SpotInterrupted, "EC2 takes the spot instance back"))
        }
        DeletionReason::ReservationEnding => Some((
            EventReason::CapacityReservationInstanceInterrupted,
            "its capacity reservation takes the instance back",
        )),
        DeletionReason::InstanceEnded => {
            Some((EventReason::InstanceTerminating, "the instance stops, stopped or is gone"))
        }
        DeletionReason::InstanceUnhealthy => {
            Some((EventReason::InstanceUnhealthy, "AWS announced a change of the instance"))
        }
        _ => None,
    };
    let mut events = Vec::new();
    if let Some((reason, message)) = interruption {
        events.extend(ObjectEvent::of_both(claim, reason, message));
        let message = format!("it is deleted: {}", deletion.reason);
        events.extend(ObjectEvent::of_both(claim, EventReason::TerminatingOnInterruption, message));
    }
    if let Some(deadline) = deletion.deadline {
        let reason = EventReason::TerminationGracePeriodExpiring;
        let message = format!("whatever still runs on it ends at {deadline:.0}");
        events.extend(ObjectEvent::of_both(claim, reason, message));
    }
    events
}

/// Of a pod that was asked to leave the node of `claim`, or deleted because its deadline is near (`is_forced`).
#[must_use]
pub fn of_eviction(
    claim: &NodeClaim,
    (pod, uid): (&PodKey, &model::PodUid),
    is_forced: bool,
    answer: Eviction,
) -> Option<ObjectEvent> {
    let about = EventObject::Pod(pod.clone(), Some(uid.clone()));
    let why = claim.deletion.as_ref().map(|deletion| deletion.reason.as_str()).unwrap_or_default();
    match answer {
        Eviction::Accepted if is_forced => {
            let message = format!("it is deleted: the deadline of its node is near ({why})");
            Some(ObjectEvent::new(about, EventReason::Disrupted, message))
        }
        Eviction::Accepted => {
            Some(ObjectEvent::new(about, EventReason::Evicted, format!("its node goes: {why}")))
        }
        Eviction::Blocked | Eviction::Gone => None,
    }
}

/// Of a node that pods are left on.
#[must_use]
pub fn of_pods_left(node: &NodeName, count: usize) -> Option<ObjectEvent> {
    let why = (0 < count).then(|| format!("{} left on it", words::counted(count, "pod")))?;
    Some(ObjectEvent::new(EventObject::Node(node.clone()), EventReason::FailedDraining, why))
}

/// Of claims that EC2 had no capacity for, and of the pods that they were created for.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/launch.go`.
#[must_use]
pub fn of_insufficient_capacity(claims: &[NodeClaim], why: &str) -> Vec<ObjectEvent> {
    let of = |claim: &NodeClaim| {
        let reason = EventReason::InsufficientCapacityError;
        let of_claim = ObjectEvent::new(EventObject::NodeClaim(claim.name.clone()), reason, why);
        let message = format!("NodeClaim {} was not launched for it: {why}", claim.name);
        let of_pod = move |pod: &PodKey| {
            ObjectEvent::new(EventObject::Pod(pod.clone(), None), reason, &message)
        };
        let pods: Vec<ObjectEvent> = claim.pods.iter().map(of_pod).collect();
        std::iter::once(of_claim).chain(pods)
    };
    claims.iter().flat_map(of).collect()
}

/// Of claims that go because their class is not ready.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/events.go`.
#[must_use]
pub fn of_class_not_ready(claims: &[NodeClaim], why: &str) -> Vec<ObjectEvent> {
    let about = |claim: &NodeClaim| EventObject::NodeClaim(claim.name.clone());
    let reason = EventReason::NodeClassNotReady;
    claims.iter().map(|claim| ObjectEvent::new(about(claim), reason, why)).collect()
}

/// Of a claim whose node does not join: what a look into its instance found. Karpenter does not look.
#[must_use]
pub fn of_not_joined(claim: &NodeClaim, finding: &JoinFinding) -> ObjectEvent {
    let about = EventObject::NodeClaim(claim.name.clone());
    let why = format!("{}: {}", finding.reason, finding.message);
    ObjectEvent::new(about, EventReason::FailedRegistration, why)
}

/// Of NodePools whose nodes may be in a zone that traffic is shifted away from since it was looked at last, or no
/// longer: `before` and `after` have the zones with their ends.
///
/// Karpenter: `pkg/controllers/zonalshift` of the AWS provider.
#[must_use]
pub fn of_zonal_shifts(
    (before, after): (&BTreeMap<Zone, Timestamp>, &BTreeMap<Zone, Timestamp>),
    pools: &[NodePool],
    classes: &[ListedNodeClass],
) -> Vec<ObjectEvent> {
    let not_in = |zones: &BTreeMap<Zone, Timestamp>, others: &BTreeMap<Zone, Timestamp>| {
        let zones = zones.keys().filter(|zone| !others.contains_key(*zone));
        zones.cloned().collect::<BTreeSet<Zone>>()
    };
    let (active, cleared) = (not_in(after, before), not_in(before, after));
    let of = |pool: &NodePool, zones: &BTreeSet<Zone>| {
        let zone_of_pool = pool.template.requirements.get(labels::ZONE);
        let class = classes.iter().find(|listed| listed.class.name == pool.template.node_class);
        let subnets = class.and_then(|listed| listed.status.as_ref()).map(|status| &status.subnets);
        let is_used = |zone: &&Zone| {
            zone_of_pool.is_none_or(|requirement| requirement.has(zone.as_str()))
                && subnets.into_iter().flatten().any(|subnet| subnet.zone == **zone)
        };
        let names: Vec<&str> = zones.iter().filter(is_used).map(Zone::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let about = |pool: &NodePool| EventObject::NodePool(pool.name.clone());
    let events = pools.iter().flat_map(|pool| {
        let active = of(pool, &active).map(|zones| {
            let why = format!("nothing is launched in {zones}: traffic is shifted away");
            ObjectEvent::new(about(pool), EventReason::ZonalShiftActive, why)
        });
        let cleared = of(pool, &cleared).map(|zones| {
            let why = format!("{zones}: in use again, traffic is shifted away no longer");
            ObjectEvent::new(about(pool), EventReason::ZonalShiftCleared, why)
        });
        active.into_iter().chain(cleared)
    });
    events.collect()
}
