//! Decisions, as they are kept: what was decided about what, why, and what was not chosen.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    Function, NodeName, PodKey,
    ledger::{Rejected, RejectionReason, decision::*},
};

fn decision(subjects: usize, pods: usize) -> Decision {
    let at = Timestamp::UNIX_EPOCH;
    let summary = "demo".to_owned();
    let who = (Function::Provision, at);
    let mut decision = Decision::about(DecisionKind::Launch, [], who, summary);
    let pod = |number: usize| PodKey {
        namespace: "default".parse().unwrap(),
        name: format!("pod-{number}").parse().unwrap(),
    };
    let subject = |number: usize| Subject {
        node: NodeName::new(&format!("node-{number}")).ok(),
        pods: (0..pods).map(|index| pod(number * pods + index)).collect(),
        ..Subject::default()
    };
    decision.subjects = (0..subjects).map(subject).collect();
    decision
}

#[test]
fn what_is_too_large_for_an_item_is_split_and_nothing_is_lost() {
    for (subjects, pods, parts) in
        [(1, 1, 1), (250, 4, 1), (251, 1, 2), (4, 600, 4), (10, 500, 5), (1, 3_000, 1)]
    {
        let whole = decision(subjects, pods);
        let split = whole.clone().split();
        assert_eq!(split.len(), parts, "{subjects} with {pods}");
        let together: Vec<Subject> = split.iter().flat_map(|part| part.subjects.clone()).collect();
        assert_eq!(together, whole.subjects);
        let ids: BTreeSet<String> = split.iter().map(Decision::id).collect();
        assert_eq!(ids.len(), parts);
    }
}

#[test]
fn ids_sort_by_time_and_tell_decisions_apart() {
    let first = decision(1, 1);
    let later = Decision { at: Timestamp::from_second(1).unwrap(), ..first.clone() };
    let other = Decision { summary: "another".to_owned(), ..first.clone() };
    let again = Decision { count: 7, last_at: later.at, ..first.clone() };
    assert!(first.id() < later.id());
    assert_ne!(first.id(), other.id());
    assert_eq!(first.id(), again.id());
    assert_eq!(first.content(), later.content());
}

#[test]
fn that_a_node_stays_is_one_decision_while_only_figures_of_the_reason_move() {
    let stays = |kind, node: &str, why: &str| {
        let what = Some(node.to_owned());
        let rejected = vec![Rejected { what, reason: RejectionReason::Calm, why: why.to_owned() }];
        Decision { kind, rejected, ..decision(0, 0) }.content()
    };
    let first =
        stays(DecisionKind::NonDisruption, "ip-10-0-0-1", "it saves $0.0121 of 12,000 pods");
    for (node, why, is_same) in [
        ("ip-10-0-0-1", "it saves $0.0119 of 900 pods", true),
        ("ip-10-0-0-2", "it saves $0.0121 of 12,000 pods", false),
        ("ip-10-0-0-1", "it costs $0.0121 of 12,000 pods", false),
    ] {
        assert_eq!(
            stays(DecisionKind::NonDisruption, node, why) == first,
            is_same,
            "{node}: {why}"
        );
    }
    // What a pod needs is a figure, too, and another pod's need is another decision.
    let refused = |why| stays(DecisionKind::Refusal, "general", why);
    assert_ne!(refused("needs 4 cpu"), refused("needs 8 cpu"));
}

#[test]
fn every_kind_is_read_as_it_is_written() {
    for kind in DecisionKind::ALL {
        assert_eq!(DecisionKind::parse(kind.as_str()), kind);
    }
}
