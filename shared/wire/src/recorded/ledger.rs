//! What the ledger says, what was asked, and what was decided.

use model::{
    ClaimPhase, Function, NodeClaim, Plan,
    claim::{
        ClaimConditions, ClaimMessage, Deletion, Disrupting, LaunchedInstance, Reboot, Retry,
        VolumeState, VolumesDetached,
    },
    disruption::{Command, Cursor, Method, Progress, Replacement},
    facts::Facts,
    interruption::{Interruption, InterruptionKind},
    ledger::{
        Bound, Counters, Decision, DecisionKind, Guard, Head, LaunchRefusals, MeasuredKey, Origin,
        Rejected, RejectionReason, Snapshot, Subject, UnreadableItem,
    },
    plan::{Placement, Promise, Reason, Target, Unplaced},
    recorded::{Question, RecordedFacts},
};

use super::codec::{Damaged, Source, Stored, Writer, enumerations, structures, words};

words! { ClaimPhase Function Method VolumeState }

structures! {
    RecordedFacts { question, facts, plan }
    Facts {
        cluster, now, ledger, nodes, deleted_claims, ending_reservations, node_pools, classes, class_hashes,
        class_images, node_charges, daemon_sets, pods, unlocated_pod, surroundings, policies,
    }
    Cursor { stage, next, step, set, compatible, best }
    Interruption { kind, instance, at }
    Snapshot { head, claims, unavailable_offerings, measured, commands, refusals, unreadable }
    Head { ledger, counters, guard, shifted_zones }
    Counters { arrivals, departures }
    MeasuredKey { instance_type, image }
    LaunchRefusals { reason, count, until }
    UnreadableItem { item, claim, instance, problem }
    NodeClaim {
        name, version, node_pool, node_class, batch, batch_index, batch_size, created_at, labels,
        annotations, requirements, instance_types, requests, pods, taints, startup_taints, expire_after,
        termination_grace_period, phase, phase_since, capacity, allocatable, requested_at, instance, node,
        empty_since, conditions, deletion, message, retry, not_understood,
    }
    LaunchedInstance { id, instance_type, zone, capacity_type, price, image, launched_at }
    ClaimConditions {
        last_pod_event_at, initialized_at, is_consolidatable, consolidatable_since, inconsistent,
        disruption, drifted, drifted_since, drained_since, volumes, instance_terminating_since, reboots,
        looked_into_at,
    }
    Reboot { requested_at, boot_id, drained_at, issued_at, ended_at }
    Disrupting { reason, since }
    VolumesDetached { state, since }
    Deletion { reason, at, deadline }
    ClaimMessage { reason, text }
    Retry { failures, not_before }
    Command { method, found_at, candidates, replacements, drain, progress }
    Replacement { node_pool, instance_types, requirements, cheapest, pods }
    Plan {
        parent, promises, changes, placements, unplaced, started, ended, unavailable_offerings, decisions,
    }
    Promise { claim, possible, cheapest, price }
    Placement { target, pods }
    Unplaced { pod, reasons }
    Reason { node_pool, reason, text }
    Decision {
        kind, at, count, last_at, function, node_pool, subjects, pods, summary, rejected, price_before,
        price_after, bounds, origin,
    }
    Subject { claim, node, instance, offering, price, pods }
    Rejected { what, reason, why }
    Bound { node_pool, what, left }
    Origin { facts, counters, delivery, version, recorded }
}

enumerations! {
    Question { 0 Provision, 1 Disrupt { unseen, from }, 2 CarryOn, 3 Interrupt(events) }
    InterruptionKind {
        0 SpotInterruption,
        1 ReservationInterruption,
        2 ScheduledChange,
        3 RebalanceRecommendation,
        4 CheckFailed,
        5 InstanceEnding,
    }
    Guard { 0 Unchecked, 1 Free { checked_at }, 2 Held { by, checked_at } }
    Progress {
        0 Found,
        1 Launching { since, claims },
        2 Rebooting { since },
        3 RolledBack { why },
        4 Moved { until, pods, workloads },
    }
    Target { 0 Node(name), 1 Claim(name) }
}

/// By its word; one that is not known here was written by another release.
impl Stored for DecisionKind {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_str());
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        from.text(|word| Ok(Self::parse(word)))
    }
}

/// By its word; one that is not known here was written by another release.
impl Stored for RejectionReason {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_str());
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        from.text(|word| Ok(Self::parse(word)))
    }
}
