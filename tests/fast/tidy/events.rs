//! Each of Karpenter's events is published, or `docs/compatibility.md` says why not.

use std::collections::BTreeSet;

use model::event::EventReason;

use crate::functions::read;

/// The reasons of the events of Karpenter 1.15, of its core, of the library by which its controllers tell of
/// conditions and finalizers, and of its provider for AWS. Types of conditions are reasons, too.
///
/// Karpenter: `pkg/events/reason.go`, `events.go` of each controller, `pkg/utils/pod/events.go`; operatorpkg:
/// `status/controller.go`; AWS: `pkg/controllers/interruption/events`, `pkg/controllers/nodeclass/events.go`,
/// `pkg/cloudprovider/events`.
const KARPENTER: [&str; 40] = [
    "AwaitingVolumeDetachment",
    "CapacityReservationInstanceInterrupted",
    "ConsolidationApproved",
    "ConsolidationCandidate",
    "ConsolidationRejected",
    "Disrupted",
    "DisruptionBlocked",
    "DisruptionLaunching",
    "DisruptionTerminating",
    "DisruptionWaitingReadiness",
    "DoNotDisruptGracePeriodElapsed",
    "DoNotDisruptUntil",
    "Evicted",
    "FailedConsistencyCheck",
    "FailedDraining",
    "FailedScheduling",
    "FailedTermination",
    "Finalized",
    "InstanceStopping",
    "InstanceTerminating",
    "InstanceUnhealthy",
    "InsufficientCapacityError",
    "InvalidDoNotDisruptAnnotation",
    "Launched",
    "NoCompatibleInstanceTypes",
    "NodeClassNotReady",
    "NodeRepairBlocked",
    "Nominated",
    "RebootFailed",
    "RebootObserved",
    "Registered",
    "SpotInterrupted",
    "SpotRebalanceRecommendation",
    "TerminatingOnInterruption",
    "TerminationGracePeriodExpiring",
    "Unconsolidatable",
    "UnregisteredTaintMissing",
    "WaitingOnNodeClaimTermination",
    "ZonalShiftActive",
    "ZonalShiftCleared",
];

/// Reasons of our own.
const OURS: [&str; 3] = ["FailedAdoption", "FailedRegistration", "RolloutHalted"];

/// The words of the table, each with whether its row says that it is published, and not why it is not.
fn rows() -> Vec<(String, bool)> {
    let page = read("docs/compatibility.md");
    let (_, part) = page.split_once("\n## Events of Kubernetes\n").expect("the part about events");
    let part = part.split("\n## ").next().unwrap_or_default();
    let cells = part.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
    let words = cells.flat_map(|(words, rest)| {
        let is_published =
            !rest.starts_with("not published") && !rest.starts_with("has no meaning");
        let words = format!("`{words}");
        let words: Vec<String> = words.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        words.into_iter().map(move |word| (word, is_published))
    });
    words.collect()
}

#[test]
fn every_event_of_karpenter_is_published_or_answered() {
    let karpenter = BTreeSet::from(KARPENTER);
    assert_eq!(karpenter.len(), KARPENTER.len());
    let ours: BTreeSet<&str> = EventReason::ALL.iter().map(|reason| reason.as_str()).collect();
    let rows = rows();
    let of = |is_published: bool| -> BTreeSet<&str> {
        let rows = rows.iter().filter(|row| row.1 == is_published);
        rows.map(|(word, _)| word.as_str()).collect()
    };
    let (told, answered) = (of(true), of(false));
    for name in &karpenter {
        assert!(ours.contains(name) != answered.contains(name), "{name}: told, or answered");
    }
    for name in &answered {
        assert!(karpenter.contains(name), "{name} is none of Karpenter's");
    }
    // The page says how a published event differs, and lists those that Karpenter lacks.
    assert!(told.is_subset(&ours), "{told:?}");
    for name in ours.difference(&karpenter) {
        assert!(OURS.contains(name) && told.contains(name), "{name} is none of Karpenter's");
    }
}
