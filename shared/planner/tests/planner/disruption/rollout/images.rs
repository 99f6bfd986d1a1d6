//! Images: candidates for canaries, accepted ones for all other nodes.

use std::collections::BTreeSet;

use model::{
    ImageId,
    disruption::{Command, Progress},
    facts::Facts,
    labels::{CANARY, ROLLOUT_CANARY, ROLLOUT_FREEZE},
    ledger::Snapshot,
    node_class::{ClassStatus, Image, NodeClass, ObservedNodeClass, TemplateSource},
    rollout::{AcceptedImages, RolloutAnnotations},
    static_hash::NODE_CLASS,
};
use planner::{Answer, disruption::images_of_rollout};

use super::{TWENTIETH, add_one, crashes, ended, looked, moved, remembered, with_canaries};
use crate::planner::support::cluster::*;

/// Nodes on the accepted `ami-1` and `canaries` on the candidate `ami-2`, initialized `age` seconds ago.
fn candidates(canaries: usize, age: i64) -> Facts {
    let mut facts = with_canaries(19, canaries, age, &[TWENTIETH]);
    let images = facts.class_images.clone();
    facts.class_candidates = images;
    let accepted = facts.class_images.values_mut().next().expect("a class");
    for image in accepted.values_mut() {
        *image = "ami-1".parse().unwrap();
    }
    facts
}

fn accepted(answer: &Answer) -> Vec<&AcceptedImages> {
    let commands = answer.plan.started.values();
    let accepted = commands.filter_map(|command| match &command.progress {
        Progress::Accepted(accepted) => Some(accepted),
        _ => None,
    });
    accepted.collect()
}

#[test]
fn only_canaries_start_from_candidates_until_these_are_accepted() {
    let facts = candidates(0, 0);
    assert_eq!(moved(facts.clone()), 1);
    let answer = looked(&facts);
    let [new] = answer.plan.new_claims.as_slice() else { panic!("one node is replaced") };
    assert!(new.claim.annotations.contains_key(CANARY));
    assert_eq!(accepted(&answer), Vec::<&AcceptedImages>::new());
    // It bakes.
    let baking = candidates(1, 899);
    assert_eq!((moved(baking.clone()), accepted(&looked(&baking)).len()), (0, 0));
    let mut passed = candidates(1, 900);
    let answer = looked(&passed);
    let images: BTreeSet<ImageId> = ["ami-2".parse().unwrap()].into();
    let is_it = AcceptedImages { node_class: "default".parse().unwrap(), images };
    assert_eq!(accepted(&answer), [&is_it]);
    assert_eq!(moved(passed.clone()), 19);
    // It is said once, and forgotten when the status says so.
    let is_said = |command: &Command| matches!(command.progress, Progress::Accepted(_));
    let said = answer.plan.started.into_iter().filter(|(_, command)| is_said(command));
    passed.ledger.commands.extend(said);
    assert_eq!((accepted(&looked(&passed)).len(), ended(&passed)), (0, 0));
    passed.class_images = std::mem::take(&mut passed.class_candidates);
    assert_eq!((accepted(&looked(&passed)).len(), ended(&passed)), (0, 1));
}

#[test]
fn candidates_are_accepted_where_no_node_is_left() {
    let mut facts = candidates(0, 0);
    for claim in facts.ledger.claims.values_mut() {
        claim.instance.as_mut().unwrap().image = Some("ami-2".parse().unwrap());
    }
    assert_eq!(accepted(&looked(&facts)).len(), 1);
}

#[test]
fn a_halt_leads_back_to_the_accepted_image() {
    let mut bad = candidates(1, 700);
    crashes("new0", 400)(&mut bad);
    let mut facts = remembered(bad);
    let answer = looked(&facts);
    let back: Vec<&Command> =
        answer.plan.started.values().filter(|command| command.is_under_way()).collect();
    let [command] = back.as_slice() else { panic!("{:?}", answer.plan.started) };
    assert_eq!(command.candidates[0].as_str(), "claim-new0");
    let [new] = answer.plan.new_claims.as_slice() else { panic!("one node is replaced") };
    assert!(!new.claim.annotations.contains_key(CANARY));
    assert_eq!(accepted(&answer).len(), 0);
    // The only node on the accepted image fails: that halts nothing, and all canaries go back.
    let mut failing = facts.clone();
    failing
        .ledger
        .claims
        .retain(|_, claim| matches!(claim.name.as_str(), "claim-n00" | "claim-new0"));
    failing.nodes.retain(|name, _| name.as_str() == "new0");
    claim(&mut failing, "n00").instance.as_mut().unwrap().launched_at = ago(600);
    add_one(&mut failing, "new1", "ami-2", 700);
    assert_eq!((moved(failing.clone()), super::halts(&looked(&failing))), (2, 0));
    // Nothing is left to do, and the candidate is not accepted for that.
    facts.ledger.claims.remove("claim-new0");
    facts.nodes.remove("new0");
    assert_eq!((moved(facts.clone()), accepted(&looked(&facts)).len(), ended(&facts)), (0, 0, 0));
    // The next candidate.
    let images = facts.class_candidates.values_mut().next().unwrap();
    for image in images.values_mut() {
        *image = "ami-3".parse().unwrap();
    }
    assert_eq!((moved(facts.clone()), ended(&facts)), (1, 1));
}

fn image(id: &str) -> Image {
    Image {
        id: id.parse().unwrap(),
        name: id.to_owned(),
        created_at: None,
        deprecated_at: None,
        requirements: model::Requirements::new(),
    }
}

/// What the status says of images: accepted ones, and candidates in brackets.
fn check(
    (before, candidates): (&[&str], &[&str]),
    change: impl Fn(&mut ObservedNodeClass),
    (selected, gone, passed): (&[&str], &str, &[&str]),
    expected: &str,
) {
    let annotations = [(ROLLOUT_CANARY.to_owned(), "1".to_owned())].into();
    let mut observed = ObservedNodeClass {
        class: NodeClass {
            rollout: RolloutAnnotations::among(&annotations),
            ..testkit::build::node_class("default")
        },
        uid: "u".to_owned(),
        generation: 1,
        annotations: NODE_CLASS.annotations("7").into(),
        status: Some(ClassStatus {
            images: before.iter().map(|id| image(id)).collect(),
            candidates: candidates.iter().map(|id| id.parse().unwrap()).collect(),
            ..ClassStatus::default()
        }),
    };
    change(&mut observed);
    let mut ledger = Snapshot::default();
    if !passed.is_empty() {
        let images = passed.iter().map(|id| id.parse().unwrap()).collect();
        let node_class = "default".parse().unwrap();
        let command = Command {
            method: model::disruption::Method::Drift,
            found_at: now(),
            candidates: Vec::new(),
            replacements: Vec::new(),
            drain: None,
            progress: Progress::Accepted(AcceptedImages { node_class, images }),
        };
        ledger.commands.insert(model::CommandId::derived(&command), command);
    }
    let available = before.iter().filter(|id| **id != gone).map(|id| id.parse().unwrap());
    let selected: Vec<Image> = selected.iter().map(|id| image(id)).collect();
    let (images, held) =
        images_of_rollout(&observed, (Some(7), selected), &available.collect(), &ledger);
    let shown = |image: &Image| {
        let id = image.id.to_string();
        if held.contains(&image.id) { format!("[{id}]") } else { id }
    };
    let shown: Vec<String> = images.iter().map(shown).collect();
    assert_eq!(shown.join(" "), expected);
}

#[test]
fn the_status_keeps_the_accepted_images_until_others_passed() {
    let same = |_: &mut ObservedNodeClass| ();
    let (one, both) = ((&["ami-1"][..], &[][..]), (&["ami-1", "ami-2"][..], &["ami-2"][..]));
    check(one, same, (&["ami-1"], "", &[]), "ami-1");
    check(one, same, (&["ami-2"], "", &[]), "ami-1 [ami-2]");
    check(both, same, (&["ami-2"], "", &[]), "ami-1 [ami-2]");
    check(both, same, (&["ami-3", "ami-1"], "", &[]), "ami-1 [ami-3]");
    check(both, same, (&["ami-2"], "", &["ami-2"]), "ami-2");
    check(both, same, (&["ami-3"], "", &["ami-2"]), "ami-1 [ami-3]");
    // The user goes back, or no image is found.
    check(both, same, (&["ami-1"], "", &[]), "ami-1");
    check(both, same, (&[], "", &[]), "");
    // Nothing can be launched from an image that is gone.
    check(both, same, (&["ami-2"], "ami-1", &[]), "ami-2");
    let without = |texts: &[(&str, &str)]| {
        let texts = texts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let rollout = RolloutAnnotations::among(&texts.collect());
        move |observed: &mut ObservedNodeClass| observed.class.rollout.clone_from(&rollout)
    };
    check(both, without(&[]), (&["ami-2"], "", &[]), "ami-2");
    check(both, without(&[(ROLLOUT_FREEZE, "@daily 1h")]), (&["ami-2"], "", &[]), "ami-2");
    check(both, without(&[(ROLLOUT_CANARY, "none")]), (&["ami-2"], "", &[]), "ami-1 [ami-2]");
    // Another spec, a class that is new, and a launch template of the user's own.
    let spec = |observed: &mut ObservedNodeClass| {
        observed.annotations = NODE_CLASS.annotations("6").into();
    };
    check(both, spec, (&["ami-2"], "", &[]), "ami-2");
    check(both, |observed| observed.annotations.clear(), (&["ami-2"], "", &[]), "ami-2");
    check(both, |observed| observed.status = None, (&["ami-2"], "", &[]), "ami-2");
    let named = |observed: &mut ObservedNodeClass| {
        observed.class.launch_template = TemplateSource::Named("own".parse().unwrap());
    };
    check(both, named, (&["ami-2"], "", &[]), "ami-2");
}
