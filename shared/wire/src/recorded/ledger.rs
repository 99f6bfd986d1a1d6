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
        Rejected, RejectionReason, Shortage, Snapshot, Subject, UnreadableItem,
    },
    plan::{NewClaim, Placement, Reason, Target, Unplaced},
    recorded::{Question, RecordedFacts},
    rollout::{AcceptedImages, Halt, RolloutAnnotations, RolloutTarget},
};

use super::{
    codec::{Damaged, Source, Stored, Writer, text},
    macros::{enumerations, structures, words},
};

words! { Function Method VolumeState }

structures! {
    RecordedFacts { 1 question, 2 facts, 3 plan }
    Facts {
        1 cluster, 2 now, 3 ledger, 4 nodes, 5 deleted_claims, 6 ending_reservations, 7 node_pools,
        8 classes, 9 class_hashes, 10 class_images, 11 node_charges, 12 daemon_sets, 13 pods,
        14 unlocated_pod, 15 surroundings, 16 policies, 64 devices,
        65 class_rollouts, 66 class_candidates,
    }
    RolloutAnnotations { 1 texts }
    RolloutTarget { 1 node_class, 2 node_pool, 3 pool_hash, 4 class_hash, 5 image }
    AcceptedImages { 1 node_class, 2 images }
    Halt { 1 target, 2 settings, 3 why }
    Cursor { 1 stage, 2 next, 3 step, 4 set, 5 compatible, 6 best }
    Interruption { 1 kind, 2 instance, 3 at }
    Snapshot {
        1 head, 2 claims, 3 unavailable_offerings, 4 measured, 5 commands, 6 refusals, 7 unreadable,
        64 shortages,
    }
    Head { 1 ledger, 2 counters, 3 guard, 4 shifted_zones }
    Counters { 1 arrivals, 2 departures }
    MeasuredKey { 1 instance_type, 2 image }
    LaunchRefusals { 1 reason, 2 count, 3 until, 64 ended }
    UnreadableItem { 1 item, 2 claim, 3 instance, 4 problem }
    NodeClaim {
        1 name, 2 version, 3 node_pool, 4 node_class, 5 batch, 6 batch_index, 7 batch_size,
        8 created_at, 9 labels, 10 annotations, 11 requirements, 12 instance_types, 13 requests,
        14 pods, 15 taints, 16 startup_taints, 17 expire_after, 18 termination_grace_period,
        19 phase, 20 phase_since, 21 capacity, 22 allocatable, 23 requested_at, 24 instance,
        25 node, 26 empty_since, 27 conditions, 28 deletion, 29 message, 30 retry,
        31 not_understood,
    }
    LaunchedInstance {
        1 id, 2 instance_type, 3 zone, 4 capacity_type, 5 price, 6 image, 7 launched_at,
    }
    ClaimConditions {
        1 last_pod_event_at, 2 initialized_at, 3 is_consolidatable, 4 consolidatable_since,
        5 inconsistent, 6 disruption, 7 drifted, 8 drifted_since, 9 drained_since, 10 volumes,
        11 instance_terminating_since, 12 reboots, 13 looked_into_at,
    }
    Reboot { 1 requested_at, 2 boot_id, 3 drained_at, 4 issued_at, 5 ended_at }
    Disrupting { 1 reason, 2 since }
    VolumesDetached { 1 state, 2 since }
    Deletion { 1 reason, 2 at, 3 deadline }
    ClaimMessage { 1 reason, 2 text }
    Retry { 1 failures, 2 not_before }
    Command { 1 method, 2 found_at, 3 candidates, 4 replacements, 5 drain, 6 progress }
    Replacement { 1 node_pool, 2 instance_types, 3 requirements, 4 cheapest, 5 pods, 64 device_drivers }
    Plan {
        1 parent, 2 new_claims, 3 changes, 4 placements, 5 unplaced, 6 started, 7 ended,
        8 unavailable_offerings, 9 decisions,
    }
    NewClaim { 1 claim, 2 possible, 3 cheapest, 4 price }
    Placement { 1 target, 2 pods }
    Unplaced { 1 pod, 2 reasons }
    Reason { 1 node_pool, 2 reason, 3 text }
    Decision {
        1 kind, 2 at, 3 count, 4 last_at, 5 function, 6 node_pool, 7 subjects, 8 pods, 9 summary,
        10 rejected, 11 price_before, 12 price_after, 13 bounds, 14 origin,
    }
    Subject { 1 claim, 2 node, 3 instance, 4 offering, 5 price, 6 pods }
    Rejected { 1 what, 2 reason, 3 why }
    Bound { 1 node_pool, 2 what, 3 left }
    Origin { 1 facts, 2 counters, 3 delivery, 4 version, 5 recorded }
}

enumerations! {
    Question { 0 Provision, 1 Disrupt { 1 unseen, 2 from }, 2 CarryOn, 3 Interrupt(1 events) }
    InterruptionKind {
        0 SpotInterruption,
        1 ReservationInterruption,
        2 ScheduledChange,
        3 RebalanceRecommendation,
        4 CheckFailed,
        5 InstanceEnding,
    }
    Guard { 0 Unchecked, 1 Free { 1 checked_at }, 2 Held { 1 by, 2 checked_at } }
    Progress {
        0 Found,
        1 Launching { 1 since, 2 claims },
        2 Rebooting { 1 since },
        3 RolledBack { 1 why },
        4 Moved { 1 until, 2 pods, 3 workloads },
        5 Halted(1 halt),
        6 Accepted(1 images),
    }
    Target { 0 Node(1 name), 1 Claim(1 name) }
    Shortage {
        0 Unsupported { 1 class, 2 offering },
        1 Group { 1 group, 2 offering },
        2 Addresses { 1 subnet },
        3 Spread { 1 group, 2 zone },
        4 Quota { 1 node_pool, 2 word },
        5 Spot,
    }
}

impl Stored for ClaimPhase {
    fn put(&self, to: &mut Writer) {
        to.text(self.code());
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let unknown = |code: &str| format!("`{code}` is no ClaimPhase");
        text(from, |code| Self::of_code(code).ok_or_else(|| unknown(code)))
    }
}

/// By its word; one that is not known here was written by another release.
impl Stored for DecisionKind {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_str());
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        text(from, |word| Ok(Self::parse(word)))
    }
}

/// By its word; one that is not known here was written by another release.
impl Stored for RejectionReason {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_str());
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        text(from, |word| Ok(Self::parse(word)))
    }
}
