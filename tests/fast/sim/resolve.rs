//! The status of EC2NodeClasses, and what becomes of the instance profiles that are made for
//! them.

use model::{
    Condition, ConditionKind, ConditionReason, NodeClaimName,
    node_class::{ImageFamily, ImageTerm, NodeClass, NodeClassStatus, NodeIdentity},
    node_pool::ClassReadiness,
    static_hash::{NODE_CLASS, NodeClassHash},
};
use ports::{Fault, Ledger as _, NodeClasses as _, NodePools as _, Profiles, Templates};
use simulator::{Action, ClusterObject, Injection, Sim, WorldSettings, first_calls};

use crate::world::{minute, runner, scale, sim};

fn status(sim: &Sim) -> NodeClassStatus {
    sim.class_status(&testkit::build::id("default")).expect("it was told")
}

#[track_caller]
fn condition(status: &NodeClassStatus, kind: ConditionKind) -> &Condition {
    status.conditions.iter().find(|condition| condition.kind == kind).expect("a condition")
}

fn class(sim: &Sim) -> NodeClass {
    let seen = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing");
    seen.items.into_iter().map(|seen| seen.class).next().expect("a class")
}

fn profiles(sim: &Sim) -> Vec<String> {
    let known =
        sim.block_on(Profiles::list(sim, "/journeyman/")).expect("an answer").expect("a listing");
    known.into_iter().map(|profile| profile.name).collect()
}

#[test]
fn the_status_of_a_class_says_what_it_selects() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let status = status(&sim);
    assert_eq!(status.conditions.last().expect("conditions").kind, ConditionKind::Ready);
    assert_eq!(
        condition(&status, ConditionKind::Ready).status,
        Some(true),
        "{:?}",
        status.conditions
    );
    assert_eq!(status.subnets.len(), 4, "one in each zone");
    assert_eq!(status.security_groups.len(), 1);
    assert!(status.images.len() > 1, "one for each architecture at least");
    assert_eq!(status.instance_profile.into_iter().collect::<Vec<_>>(), profiles(&sim));
}

#[test]
fn the_status_of_a_custom_class_has_the_images_of_another_familys_alias() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    for family in [ImageFamily::Bottlerocket, ImageFamily::Windows2022] {
        let alias = ImageTerm::Alias { family, version: "latest".to_owned() };
        let custom = NodeClass {
            image_family: ImageFamily::Custom,
            image_terms: vec![alias],
            ..class(&sim)
        };
        sim.act(Action::Add(vec![ClusterObject::NodeClass(custom)]));
        runner.run_until(sim.now() + jiff::SignedDuration::from_mins(2)).expect("nothing unsafe");
        let status = status(&sim);
        assert_eq!(
            condition(&status, ConditionKind::AmisReady).status,
            Some(true),
            "{:?}",
            status.conditions
        );
        let name = family.as_str().to_ascii_lowercase();
        let are_of_family = status.images.iter().all(|image| image.name.contains(&name));
        assert!(!status.images.is_empty() && are_of_family, "{:?}", status.images);
    }
}

#[test]
fn the_status_of_a_pool_says_what_it_has_and_whether_it_can_be_used() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    let name = testkit::build::id("general");
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let told = sim.pool_status(&name).expect("it was told");
    assert_eq!((told.node_class, told.node_class_generation), (ClassReadiness::Ready, Some(1)));
    let nodes = sim.nodes();
    assert!(!nodes.is_empty(), "nodes were launched");
    assert_eq!(usize::try_from(told.nodes), Ok(nodes.len()));
    let cpu: u64 = nodes.iter().map(|node| node.capacity.cpu.0).sum();
    assert_eq!(told.resources.cpu.0, cpu);
    assert_eq!(told.registrations.are_healthy(), Some(true));
    // Its class cannot be launched from any more: the pool repeats it.
    for image in &status(&sim).images {
        sim.act(Action::DeregisterImage(image.id.clone()));
    }
    runner.run_until(minute(12)).expect("nothing unsafe happens");
    let told = sim.pool_status(&name).expect("it was told");
    assert!(matches!(told.node_class, ClassReadiness::NotReady { .. }), "{told:?}");
}

#[test]
fn a_pool_says_that_its_class_goes() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let going = NodeClass { is_deleting: true, ..class(&sim) };
    sim.act(Action::Add(vec![ClusterObject::NodeClass(going)]));
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let told = sim.pool_status(&testkit::build::id("general")).expect("it was told");
    assert_eq!(told.node_class, ClassReadiness::Terminating);
}

#[test]
fn what_a_pool_has_follows_its_nodes() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    let mut run = |minutes| {
        runner.run_until(minute(minutes)).expect("nothing unsafe happens");
        let told = sim.pool_status(&testkit::build::id("general")).expect("it was told");
        let capacities = sim.nodes().into_iter().map(|node| node.capacity.cpu.0);
        assert_eq!(told.resources.cpu.0, capacities.sum::<u64>(), "after {minutes} minutes");
        assert_eq!(usize::try_from(told.nodes), Ok(sim.nodes().len()), "after {minutes} minutes");
        told
    };
    let before = run(10);
    sim.act(scale("web", 24));
    let more = run(16);
    assert!(before.nodes < more.nodes && before.resources.memory < more.resources.memory);
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    let none = run(40);
    assert_eq!((none.nodes, none.resources), (0, model::Resources::default()));
}

#[test]
fn a_class_without_images_says_so_until_there_are_some() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let images = status(&sim).images;
    for image in &images {
        sim.act(Action::DeregisterImage(image.id.clone()));
    }
    runner.run_until(minute(5)).expect("nothing unsafe happens");
    let told = status(&sim);
    assert_eq!(told.images, Vec::new());
    assert_eq!(condition(&told, ConditionKind::AmisReady).reason, ConditionReason::AmiNotFound);
    assert_eq!(condition(&told, ConditionKind::SubnetsReady).status, Some(true));
    assert_eq!(condition(&told, ConditionKind::Ready).status, Some(false));
}

#[test]
fn what_fails_now_is_reported_a_minute_later() {
    let sim = sim(WorldSettings::default());
    sim.add_rule(first_calls(
        "NodeClasses.update_class_status",
        1,
        Injection::FailBefore(Fault::Transient),
    ));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    assert_eq!(condition(&status(&sim), ConditionKind::Ready).status, Some(true));
}

#[test]
fn the_profile_of_a_former_role_stays_as_long_as_nodes_have_it() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let former = profiles(&sim);
    assert_eq!(former.len(), 1);
    let other = NodeClass {
        identity: NodeIdentity::Role("AnotherRole-simulated".to_owned()),
        ..class(&sim)
    };
    sim.act(Action::Add(vec![ClusterObject::NodeClass(other)]));
    // Long after it is protected for being young.
    runner.run_until(minute(90)).expect("nothing unsafe happens");
    let both = profiles(&sim);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.contains(&former[0]) && sim.claims().len() > 1);
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    runner.run_until(minute(150)).expect("nothing unsafe happens");
    assert_eq!(sim.claims(), Vec::new());
    let left = profiles(&sim);
    assert_eq!(left, status(&sim).instance_profile.into_iter().collect::<Vec<_>>());
    assert_ne!(left, former);
}

#[test]
fn launch_templates_go_after_a_day_and_are_made_again() {
    let sim = sim(WorldSettings::default());
    let cluster = WorldSettings::default().cluster;
    let templates = || {
        let listed = sim.block_on(Templates::list(&sim, &cluster));
        listed.expect("an answer").expect("a listing")
    };
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let made = templates();
    assert!(!made.is_empty());
    runner.run_until(minute(24 * 60 - 5)).expect("nothing unsafe happens");
    assert_eq!(templates(), made);
    runner.run_until(minute(24 * 60 + 10)).expect("nothing unsafe happens");
    // What is checked by a dry run every half an hour was made again since.
    assert!(templates().iter().all(|(name, made_at)| made.get(name) != Some(made_at)));
    sim.act(scale("web", 24));
    runner.run_until(minute(24 * 60 + 20)).expect("nothing unsafe happens");
    assert!(!templates().is_empty());
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

/// A cluster whose pods went, and whose empty nodes stay.
fn idle() -> Sim {
    let sim = sim(WorldSettings::default());
    let pools = sim.block_on(sim.observed_pools()).expect("an answer").expect("a listing");
    let mut pool = pools.items.into_iter().map(|seen| seen.pool).next().expect("a pool");
    pool.disruption.consolidate_after = None;
    sim.act(Action::Add(vec![ClusterObject::NodePool(pool)]));
    sim
}

fn names(sim: &Sim) -> Vec<NodeClaimName> {
    sim.claims().into_iter().map(|claim| claim.name).collect()
}

#[test]
fn nodes_of_a_class_that_changed_are_disrupted_and_all_others_stay() {
    let sim = idle();
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    let claims = names(&sim);
    assert!(claims.len() > 1, "{claims:?}");
    let said = status(&sim).hash.expect("a hash").to_string();
    let annotations = NODE_CLASS.annotations(&said);
    for claim in sim.claims() {
        let has_all =
            annotations.iter().all(|(key, value)| claim.annotations.get(key) == Some(value));
        assert!(has_all, "{:?}", claim.annotations);
    }
    let hash = class(&sim).hash.map(|NodeClassHash(hash)| NodeClassHash(hash.wrapping_add(1)));
    sim.act(Action::Add(vec![ClusterObject::NodeClass(NodeClass { hash, ..class(&sim) })]));
    runner.run_until(minute(60)).expect("nothing unsafe happens");
    assert_eq!(names(&sim), Vec::new());
}

#[test]
fn nodes_with_a_hash_of_another_version_stay_and_get_the_hash_of_this_one() {
    let sim = idle();
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    let claims = names(&sim);
    let present: Vec<_> = sim.claims().into_iter().map(|claim| claim.annotations).collect();
    let cluster = WorldSettings::default().cluster;
    for mut claim in sim.claims() {
        let older = [(NODE_CLASS.key, "17"), (NODE_CLASS.version_key, "v5")];
        claim.annotations.extend(older.map(|(key, value)| (key.to_owned(), value.to_owned())));
        claim.version += 1;
        let written = sim.block_on(sim.write_claim(&cluster, &claim));
        written.expect("an answer").expect("it is written");
    }
    runner.run_until(minute(60)).expect("nothing unsafe happens");
    assert_eq!(names(&sim), claims);
    let renewed: Vec<_> = sim.claims().into_iter().map(|claim| claim.annotations).collect();
    assert_eq!(renewed, present);
}

/// Two nodes that do not join are too many, whatever joined before; four that join make up for them, and
/// another spec begins anew.
#[test]
fn a_pool_says_whether_its_latest_nodes_joined() {
    let sim = sim(WorldSettings { never_joins_per_mille: 1_000, ..WorldSettings::default() });
    let (mut runner, _reports) = runner(&sim);
    let name = testkit::build::id("general");
    let health = |sim: &Sim| sim.pool_status(&name).expect("it was told").registrations;
    runner.run_until(minute(14)).expect("nothing unsafe happens");
    assert_eq!(health(&sim).are_healthy(), None);
    runner.run_until(minute(18)).expect("nothing unsafe happens");
    let told = health(&sim);
    assert_eq!(told.are_healthy(), Some(false));
    let failure = told.failures().next().expect("one of them");
    assert_eq!(failure.reason, ConditionReason::RegistrationFailed);
    // The claims that failed are long gone, and it is still known.
    let cluster = WorldSettings::default().cluster;
    let known = sim.block_on(sim.registrations(&cluster)).expect("an answer").expect("it works");
    assert_eq!(known.get(&name).expect("a record").are_healthy(), Some(false));
    // A user corrects what was wrong, and changes the pool.
    let pools = sim.block_on(sim.observed_pools()).expect("an answer").expect("a listing");
    let pool = pools.items.into_iter().next().expect("a pool").pool;
    let mended = model::node_pool::NodePool { weight: pool.weight + 1, ..pool };
    sim.act(Action::Add(vec![ClusterObject::NodePool(mended)]));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!(health(&sim).are_healthy(), None, "nothing was launched from this spec");
}

#[test]
fn a_pool_says_that_no_instance_type_fits_and_what_to_write() {
    let sim = sim(WorldSettings::default());
    let pools = sim.block_on(sim.observed_pools()).expect("an answer").expect("a listing");
    let pool = pools.items.into_iter().next().expect("a pool").pool;
    let mut wrong = pool.clone();
    wrong.template.requirements = testkit::build::requirements("kubernetes.io/arch=aarch64");
    sim.act(Action::Add(vec![ClusterObject::NodePool(wrong)]));
    let without_types = || -> Vec<String> {
        let record = sim.node_pool_record(&pool.name).expect("it is there");
        let of_kind = record
            .conditions
            .into_iter()
            .filter(|condition| condition.kind == ConditionKind::NoCompatibleInstanceTypes);
        of_kind.map(|condition| format!("{:?} {}", condition.status, condition.message)).collect()
    };
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    let why = "its requirements leave no instance type that can be bought now: no instance type has \
               kubernetes.io/arch In [aarch64]: write arm64";
    assert_eq!(without_types(), [format!("Some(true) {why}")]);
    // While the instance types cannot be read, it remains.
    sim.add_rule(Box::new(|call, _| {
        let is_meant = call.operation == "Catalog.catalog" && call.now < minute(6);
        if is_meant { Injection::FailBefore(Fault::Transient) } else { Injection::Pass }
    }));
    sim.act(Action::Add(vec![ClusterObject::NodePool(pool.clone())]));
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    assert_eq!(without_types(), [format!("Some(true) {why}")]);
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    assert_eq!(without_types(), [] as [String; 0]);
}
