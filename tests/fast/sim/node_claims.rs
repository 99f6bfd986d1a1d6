//! NodeClaim objects show what the ledger says, and deleting an object terminates its node.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use jiff::SignedDuration;
use model::{
    ClaimPhase, DeletionReason, Function, NodeClaim, NodeClaimName, labels, node_class::NodeClass,
};
use ports::{Fault, NodeClasses as _};
use simulator::{
    Action, ClusterObject, Dispatch, Happening, Injection, Runner, Sim, WorldSettings, first_calls,
};

use crate::world::{MANIFESTS, catalog, minute, runner, sim, sim_of};

const TENTH: SignedDuration = SignedDuration::from_millis(100);

/// Plays the usual world until pods run, then `action` on its first claim, until the given minute.
fn play(action: impl FnOnce(&Sim, &NodeClaim), minutes: i64) -> (Sim, NodeClaim) {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let claim = sim.claims().into_iter().next().expect("a claim");
    action(&sim, &claim);
    runner.run_until(minute(minutes)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.check_node_claims(), Vec::<String>::new());
    (sim, claim)
}

/// Why `name` was deleted, if it was.
fn deleted(sim: &Sim, name: &NodeClaimName) -> Option<DeletionReason> {
    sim.timeline(0).into_iter().find_map(|event| match event.happening {
        Happening::ClaimDeleted { claim, reason } if claim == *name => Some(reason),
        _ => None,
    })
}

#[test]
fn every_claim_is_synced_as_it_is() {
    let (sim, _) = play(|_, _| {}, 15);
    for claim in sim.claims() {
        let object = sim.node_claim(&claim.name).expect("an object");
        assert_eq!(object.claim, Some(claim));
        assert!(!object.is_deleting);
    }
}

#[test]
fn a_claim_that_does_not_change_is_not_written_again() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let writes = || -> Vec<_> {
        let claims = sim.claims().into_iter();
        claims
            .map(|claim| (sim.node_claim(&claim.name).expect("an object").writes, claim))
            .collect()
    };
    let before = writes();
    // Ten sweeps later.
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!(writes(), before);
}

#[test]
fn deleting_a_node_claim_gives_its_node_up() {
    let delete = |sim: &Sim, claim: &NodeClaim| {
        sim.label_node_claim(&claim.name, "theirs", "kept");
        sim.act(Action::DeleteNodeClaim(claim.name.clone()));
        let object = sim.node_claim(&claim.name).expect("its finalizer holds it");
        assert!(object.is_deleting);
    };
    let (sim, claim) = play(delete, 30);
    assert_eq!(deleted(&sim, &claim.name), Some(DeletionReason::NodeClaimDeleted));
    assert_eq!(sim.node_claim(&claim.name), None);
    assert!(sim.claims().iter().all(|other| other.name != claim.name));
    assert_eq!(sim.summary().pods_waiting, 0, "its pods got another node");
}

#[test]
fn deleting_a_node_pool_gives_its_nodes_up() {
    let delete =
        |sim: &Sim, claim: &NodeClaim| sim.act(Action::DeleteNodePool(claim.node_pool.clone()));
    let (sim, claim) = play(delete, 40);
    assert_eq!(deleted(&sim, &claim.name), Some(DeletionReason::NodeClaimDeleted));
    assert_eq!((sim.claims().len(), sim.nodes().len()), (0, 0));
}

#[test]
fn a_node_claim_of_another_writer_is_left_alone() {
    let name: NodeClaimName = "general-abcde".parse().expect("a name");
    let make = |sim: &Sim, _: &NodeClaim| sim.make_node_claim(&name);
    let (sim, _) = play(make, 20);
    let object = sim.node_claim(&name).expect("it is still there");
    assert_eq!((object.claim, object.is_deleting, object.writes), (None, false, 0));
}

#[test]
fn objects_that_cannot_be_written_hold_nothing_up() {
    let broken =
        |operation| first_calls(operation, 10_000, Injection::FailBefore(Fault::Permanent));
    let sim = sim(WorldSettings::default());
    for operation in ["NodeClaims.synced", "NodeClaims.sync", "NodeClaims.remove"] {
        sim.add_rule(broken(operation));
    }
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let claims = sim.claims();
    assert!(!claims.is_empty());
    assert!(claims.iter().all(|claim| claim.phase == ClaimPhase::Initialized));
    assert!(claims.iter().all(|claim| sim.node_claim(&claim.name).is_none()));
    // The sweep says that it could not do its job, and nothing else came to an end.
    assert!(sim.dead_letters().iter().all(|letter| letter.function == Function::Sweep));
    // Once they can be written again, the next sweep does it.
    sim.stop_faults();
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    for claim in sim.claims() {
        assert_eq!(sim.node_claim(&claim.name).and_then(|object| object.claim), Some(claim));
    }
}

#[test]
fn an_object_whose_removal_failed_goes_later() {
    let delete = |sim: &Sim, claim: &NodeClaim| {
        let lost = Injection::FailBefore(Fault::Transient);
        sim.add_rule(first_calls("NodeClaims.remove", 1, lost));
        sim.act(Action::DeleteNodeClaim(claim.name.clone()));
    };
    let (sim, claim) = play(delete, 30);
    assert_eq!(sim.node_claim(&claim.name), None);
}

/// The names of instances that say whose they are, of a class that gives its instances such tags.
fn instance_names(tags: &[(&str, &str)]) -> BTreeSet<String> {
    let sim = sim(WorldSettings::default());
    let classes = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing");
    let tags: BTreeMap<String, String> =
        tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let tagged = classes.items.into_iter().map(|observed| {
        ClusterObject::NodeClass(NodeClass { tags: tags.clone(), ..observed.class })
    });
    sim.act(Action::Add(tagged.collect()));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let described = sim.block_on(sim.describe_instances()).expect("it ends").expect("an answer");
    let tags = described.into_iter().map(|described| described.tags);
    let claimed = tags.filter(|tags| tags.contains_key(labels::NODE_CLAIM_TAG));
    claimed.map(|mut tags| tags.remove(labels::NAME_TAG).unwrap_or_default()).collect()
}

#[test]
fn an_instance_is_called_as_its_class_says_or_as_its_node() {
    let of_nodes = instance_names(&[("team", "a")]);
    assert!(!of_nodes.is_empty() && of_nodes.iter().all(|name| name.starts_with("ip-")));
    let of_class = instance_names(&[("Name", "workers")]);
    assert_eq!(of_class, BTreeSet::from(["workers".to_owned()]));
}

/// The tags of the first instance, which a user gave the name before its node joined, if any; and its claim.
fn tagged(name: Option<&str>) -> (BTreeMap<String, String>, NodeClaim) {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    let launched = |sim: &Sim| {
        let mut claims = sim.claims().into_iter();
        claims.find_map(|claim| Some(claim.instance?.id))
    };
    let mut seconds = 0;
    let instance = loop {
        seconds += 1;
        let until = minute(0).checked_add(SignedDuration::from_secs(seconds)).expect("a time");
        runner.run_until(until).expect("nothing unsafe happens");
        if let Some(instance) = launched(&sim) {
            break instance;
        }
    };
    assert!(sim.nodes().is_empty(), "its node did not join yet");
    if let Some(name) = name {
        let tags = [(labels::NAME_TAG.to_owned(), name.to_owned())].into();
        let tagged = sim.block_on(sim.create_tags(std::slice::from_ref(&instance), &tags));
        tagged.expect("an answer").expect("it works");
    }
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let is_it = |claim: &NodeClaim| claim.instance.as_ref().is_some_and(|i| i.id == instance);
    let claim = sim.claims().into_iter().find(is_it).expect("its claim");
    assert!(claim.is_tagged());
    let described = sim.block_on(sim.describe_instances()).expect("an answer").expect("it works");
    let described = described.into_iter().find(|described| described.instance.id == instance);
    (described.expect("the instance").tags, claim)
}

#[test]
fn a_name_that_a_user_gave_an_instance_before_its_node_joined_stays() {
    let (tags, claim) = tagged(None);
    let name = claim.node.as_ref().map(ToString::to_string);
    assert_eq!(tags.get(labels::NAME_TAG), name.as_ref());
    let (tags, claim) = tagged(Some("precious"));
    assert_eq!(tags.get(labels::NAME_TAG).map(String::as_str), Some("precious"));
    assert_eq!(tags.get(labels::NODE_CLAIM_TAG), Some(&claim.name.to_string()));
}

/// The claims with an instance, and whether that says whose it is.
fn tagged_claims(sim: &Sim) -> BTreeMap<NodeClaimName, bool> {
    let described = sim.block_on(sim.describe_instances()).expect("an answer").expect("it works");
    let is_tagged = |claim: &NodeClaim| {
        let id = &claim.instance.as_ref()?.id;
        let described = described.iter().find(|described| described.instance.id == *id)?;
        let said = described.tags.get(labels::NODE_CLAIM_TAG);
        Some((claim.name.clone(), said.is_some_and(|said| *said == claim.name.to_string())))
    };
    sim.claims().iter().filter_map(is_tagged).collect()
}

#[test]
fn an_instance_is_tagged_once_its_node_is_there() {
    for (never_joins_per_mille, is_tagged) in [(1_000, false), (0, true)] {
        let sim = sim(WorldSettings { never_joins_per_mille, ..WorldSettings::default() });
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(8)).expect("nothing unsafe happens");
        let tagged: Vec<bool> = tagged_claims(&sim).into_values().collect();
        assert!(!tagged.is_empty() && tagged.iter().all(|said| *said == is_tagged), "{tagged:?}");
    }
}

#[test]
fn an_instance_that_is_not_known_keeps_no_other_from_its_tags() {
    let sim = sim(WorldSettings::default());
    let mut unknown: Option<String> = None;
    sim.add_rule(Box::new(move |call, _| {
        let is_it = call.operation == "Fleet.tag"
            && *unknown.get_or_insert_with(|| call.subject.to_owned()) == call.subject;
        if is_it { Injection::FailBefore(Fault::NotFound) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    let tagged = tagged_claims(&sim);
    assert!(tagged.len() > 2, "{tagged:?}");
    let untagged: Vec<_> = tagged.iter().filter(|(_, is_tagged)| !**is_tagged).collect();
    let [(name, _)] = untagged[..] else { panic!("{tagged:?}") };
    let claim = sim.claims().into_iter().find(|claim| claim.name == *name).expect("a claim");
    assert_eq!(claim.phase, ClaimPhase::Initialized, "nor does it keep itself from service");
}

/// When instances were tagged that waited for it, since the first was refused with `fault` in that pass, which it is
/// for ever. Until then EC2 throttles all.
fn tagged_after(seed: u64, fault: Fault) -> Vec<SignedDuration> {
    let sim = sim(WorldSettings::with_seed(seed));
    let asked = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&asked);
    let mut refused: Option<String> = None;
    sim.add_rule(Box::new(move |call, _| {
        if call.operation != "Fleet.tag" {
            return Injection::Pass;
        }
        if call.now < minute(12) {
            return Injection::FailBefore(Fault::Transient);
        }
        noted.borrow_mut().push((call.now, call.subject.to_owned()));
        let is_it = *refused.get_or_insert_with(|| call.subject.to_owned()) == call.subject;
        if is_it { Injection::FailBefore(fault) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    let waiting: BTreeSet<String> = sim
        .claims()
        .iter()
        .filter_map(|claim| Some(claim.instance.as_ref()?.id.to_string()))
        .collect();
    assert!(waiting.len() > 2, "{waiting:?}");
    runner.run_until(minute(14)).expect("nothing unsafe happens");
    let asked = asked.borrow();
    let (began_at, refused) = asked.first().expect("it is tried again").clone();
    let first = |instance: &String| asked.iter().find(|(_, asked)| asked == instance);
    let others = waiting.iter().filter(|instance| **instance != refused);
    let after = others.map(|instance| {
        let (at, _) = first(instance).expect("it is tagged some time");
        at.duration_since(began_at)
    });
    after.collect()
}

#[test]
fn an_instance_that_is_refused_for_itself_ends_no_pass() {
    for fault in [Fault::NotFound, Fault::Permanent] {
        for seed in 0..6 {
            let after = tagged_after(seed, fault);
            let is_same_pass = |after: &SignedDuration| *after < SignedDuration::from_secs(1);
            assert!(after.iter().all(is_same_pass), "{fault:?} of seed {seed}: {after:?}");
        }
    }
}

#[test]
fn the_instance_of_a_claim_that_goes_is_not_tagged() {
    // Nothing on a node that goes may be disrupted: it goes for ever.
    let held = MANIFESTS.replace(
        "metadata: {labels: {app: ",
        "metadata: {annotations: {karpenter.sh/do-not-disrupt: \"true\"}, labels: {app: ",
    );
    let sim = sim_of(WorldSettings::default(), &held);
    sim.add_rule(Box::new(|call, _| {
        let is_refused = call.operation == "Fleet.tag" && call.now < minute(12);
        if is_refused { Injection::FailBefore(Fault::Transient) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let going = tagged_claims(&sim).into_keys().next().expect("a claim");
    sim.act(Action::DeleteNodeClaim(going.clone()));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    let claim = sim.claims().into_iter().find(|claim| claim.name == going).expect("it waits");
    assert!(claim.is_deleting() && claim.node.is_some());
    let tagged = tagged_claims(&sim);
    assert!(tagged.len() > 1, "{tagged:?}");
    assert!(tagged.iter().all(|(name, is_tagged)| *is_tagged == (*name != going)), "{tagged:?}");
}

/// Until the first claim is committed, by tenths of a second.
fn run_to_first_claim(sim: &Sim, runner: &mut Runner<impl Dispatch>) -> NodeClaim {
    loop {
        runner.run_until(sim.now() + TENTH).expect("nothing unsafe happens");
        if let Some(claim) = sim.claims().into_iter().next() {
            return claim;
        }
    }
}

#[test]
fn a_claim_is_shown_while_its_instance_is_launched() {
    let sim = sim(WorldSettings::default());
    let slow = Injection::Delay(SignedDuration::from_secs(30));
    sim.add_rule(first_calls("Fleet.launch", 100, slow));
    let (mut runner, _reports) = runner(&sim);
    let claim = run_to_first_claim(&sim, &mut runner);
    runner.run_until(sim.now() + SignedDuration::from_secs(1)).expect("nothing unsafe happens");
    let object = sim.node_claim(&claim.name).expect("it is shown");
    assert_eq!(object.claim.map(|claim| claim.phase), Some(ClaimPhase::Created));
    // Once it is launched, the object says so when `settle` looks again.
    let is_launched = |sim: &Sim| sim.claims()[0].instance.is_some();
    while !is_launched(&sim) {
        runner.run_until(sim.now() + TENTH).expect("nothing unsafe happens");
    }
    runner.run_until(sim.now() + SignedDuration::from_secs(16)).expect("nothing unsafe happens");
    let object = sim.node_claim(&claim.name).and_then(|object| object.claim);
    assert!(object.expect("it is shown").instance.is_some());
}

#[test]
fn an_object_that_cannot_be_written_before_the_launch_delays_nothing() {
    let launched_at = |is_refused: bool| {
        let sim = sim(WorldSettings::default());
        if is_refused {
            let never = Injection::FailBefore(Fault::Permanent);
            sim.add_rule(first_calls("NodeClaims.sync", 10_000, never));
        }
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(3)).expect("nothing unsafe happens");
        let timeline = sim.timeline(0).into_iter();
        let launches =
            timeline.filter(|event| matches!(event.happening, Happening::InstanceLaunched { .. }));
        launches.map(|event| event.at.duration_since(minute(0)).as_secs()).collect::<Vec<_>>()
    };
    let (refused, written) = (launched_at(true), launched_at(false));
    assert_eq!(refused.len(), written.len());
    assert!(refused.iter().all(|seconds| *seconds <= 10), "{refused:?}, otherwise {written:?}");
}

#[test]
fn the_object_of_a_claim_without_capacity_is_removed_with_it() {
    let sim = sim(WorldSettings::default());
    for sold in &catalog().instance_types {
        for offering in sold.offerings.iter().map(|offering| sold.key_of(offering)) {
            sim.act(Action::SetCapacity { offering, instances: Some(0) });
        }
    }
    let (mut runner, _reports) = runner(&sim);
    let claim = run_to_first_claim(&sim, &mut runner);
    let (mut seen, mut since) = (BTreeSet::new(), BTreeMap::new());
    while sim.now() < minute(5) {
        runner.run_until(sim.now() + TENTH).expect("nothing unsafe happens");
        let claims: BTreeSet<NodeClaimName> =
            sim.claims().into_iter().map(|claim| claim.name).collect();
        seen.extend(claims.iter().filter(|name| sim.node_claim(name).is_some()).cloned());
        since.retain(|name, _| sim.node_claim(name).is_some());
        for name in seen.difference(&claims).filter(|name| sim.node_claim(name).is_some()) {
            let withdrawn_at = *since.entry(name.clone()).or_insert_with(|| sim.now());
            let after = sim.now().duration_since(withdrawn_at);
            assert!(after < SignedDuration::from_secs(6), "{name} is shown after {after:#}");
        }
    }
    assert!(seen.contains(&claim.name) && seen.len() > 3, "{seen:?}");
    let event = format!("Events.publish NodeClaim {} InsufficientCapacityError", claim.name);
    assert!(sim.trace().iter().any(|line| line.contains(&event)), "no event says why");
}
