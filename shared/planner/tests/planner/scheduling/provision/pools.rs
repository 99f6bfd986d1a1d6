//! Rows TT, DS, LM, NP, MV, NC of the specification: what pools and daemons ask for.

use model::{
    facts::ClassOffer,
    labels,
    limits::INSTANCE_TYPES_PER_CLAIM_MAX,
    node_pool::NodePool,
    overlay::{NodeOverlay, PriceChange},
};

use super::*;

const ALL: &str = "[t.small t.gpu t.medium t.large]";

/// Facts with one change to the pool.
fn pooled(pods: Vec<model::Pod>, change: impl FnOnce(&mut NodePool)) -> Facts {
    let mut facts = facts(pods);
    change(&mut facts.node_pools[0]);
    facts
}

fn types_of(facts: &Facts) -> Vec<String> {
    let types = &provision(facts).new_claims[0].claim.instance_types;
    types.iter().map(ToString::to_string).collect()
}

#[test]
fn taints_of_a_pool_must_be_tolerated() {
    let tolerant = spec("cpu=1 select:arch=amd64 tolerate:team");
    let pods = vec![pod("a cpu=1 select:arch=amd64"), pending("b", tolerant)];
    let facts = pooled(pods, |pool| pool.template.taints = vec![taint("team=x:NoSchedule")]);
    let reason = "a not placed: general: does not tolerate the taint team=x:NoSchedule";
    check(&facts, &[&format!("general {ALL}: b"), reason]);
}

#[test]
fn startup_taints_keep_no_pod_away() {
    let pods = pods("a cpu=1 select:arch=amd64");
    let facts = pooled(pods, |p| p.template.startup_taints = vec![taint("cni:NoExecute")]);
    check(&facts, &[&format!("general {ALL}: a")]);
}

#[test]
fn a_soft_taint_is_tolerated_in_the_end() {
    let slow = vec![taint("slow:PreferNoSchedule")];
    let mut facts = pooled(pods("a cpu=1 select:arch=amd64"), |p| p.template.taints = slow);
    check(&facts, &[&format!("general {ALL}: a")]);
    facts.node_pools.push(node_pool("a-pool-without"));
    check(&facts, &[&format!("a-pool-without {ALL}: a")]);
}

#[test]
fn weight_goes_before_name_and_names_go_backwards() {
    let mut facts = facts(pods("a cpu=1 select:arch=amd64"));
    facts.node_pools = vec![node_pool("a"), node_pool("b")];
    check(&facts, &[&format!("b {ALL}: a")]);
    facts.node_pools[0].weight = 10;
    check(&facts, &[&format!("a {ALL}: a")]);
    let chosen = spec("cpu=1 select:pool=b&arch=amd64");
    facts.pods = vec![pending("c", chosen)];
    check(&facts, &[&format!("b {ALL}: c")]);
}

#[test]
fn pools_without_types_are_named_although_no_pod_waits() {
    let mut facts = facts(Vec::new());
    let named = |facts: &Facts| -> Vec<String> {
        let pools =
            planner::pools_without_types(facts, &planner::KnownTypes::default()).into_iter();
        pools.map(|(name, why)| format!("{name}: {why}")).collect()
    };
    assert_eq!(named(&facts), [] as [String; 0]);
    for (name, replicas) in [("fixed", Some(2)), ("wrong", None), ("leaving", None), ("bad", None)]
    {
        let mut pool = node_pool(name);
        pool.replicas = replicas;
        pool.template.requirements = requirements("arch=aarch64");
        pool.is_deleting = name == "leaving";
        pool.problems =
            (name == "bad").then(|| model::Problem::unusable("", "bad")).into_iter().collect();
        facts.node_pools.push(pool);
    }
    let why = "its requirements leave no instance type that can be bought now: no instance type has \
               kubernetes.io/arch In [aarch64]: write arm64";
    assert_eq!(named(&facts), [format!("fixed: {why}"), format!("wrong: {why}")]);
    // `provision` tells it to the NodePools.
    let answer =
        planner::answer(&facts, &model::recorded::Question::Provision, &planner::Memory::default());
    let events: Vec<String> = answer
        .events
        .iter()
        .map(|event| format!("{} {}: {}", event.about, event.reason, event.message))
        .collect();
    let event = |pool: &str| {
        format!("NodePool {pool} NoCompatibleInstanceTypes: it launches nothing: {why}")
    };
    assert_eq!(events, [event("fixed"), event("wrong")]);
}

#[test]
fn a_look_prepares_the_types_of_a_pool_once_although_overlays_change_them() {
    let mut facts = facts(pods("a cpu=1"));
    facts.policies.node_overlay = true;
    facts.surroundings.node_overlays = vec![NodeOverlay {
        name: "cheaper".parse().unwrap(),
        weight: 1,
        requirements: requirements(""),
        price: Some(PriceChange::Scaled(-100_000_000)),
        capacity: None,
        problems: Vec::new(),
    }];
    let memory = planner::Memory::default();
    let _answer = planner::answer(&facts, &model::recorded::Question::Provision, &memory);
    assert_eq!(format!("{:?}", memory.types).matches("TypeIndex {").count(), 1);
}

#[test]
fn a_plan_that_leaves_pods_pending_is_not_made_again_until_something_changes() {
    let mut facts = facts(pods("a cpu=4000"));
    let memory = planner::Memory::default();
    let plan_of = |facts: &Facts| {
        let ask = |memory| planner::answer(facts, &model::recorded::Question::Provision, memory);
        let (answer, fresh) = (ask(&memory), ask(&planner::Memory::default()));
        assert_eq!(answer.plan, fresh.plan);
        assert_eq!(answer.events, fresh.events);
        let planned_at = format!("{memory:?}").matches(&format!("now: {:?}", facts.now)).count();
        (answer.plan.unplaced.len(), planned_at)
    };
    assert_eq!(plan_of(&facts), (1, 1));
    facts.now += jiff::SignedDuration::from_mins(1);
    // The facts in the memory are the first ones.
    assert_eq!(plan_of(&facts), (1, 0));
    facts.pods = pods("a cpu=4000; b cpu=5000");
    assert_eq!(plan_of(&facts), (2, 1));
    facts.pods = pods("a cpu=4000; b cpu=1");
    // Something is created: the ledger changes, and nothing is kept.
    assert_eq!(plan_of(&facts), (1, 0));
}

#[test]
fn a_pool_that_cannot_launch_says_why() {
    #[track_caller]
    fn says(change: impl FnOnce(&mut NodePool), reason: &str) {
        let facts = pooled(pods("p cpu=1"), change);
        check(&facts, &[&format!("p not placed: general: {reason}")]);
    }
    says(|pool| pool.is_deleting = true, "the NodePool is being deleted");
    let reason = "the NodePool is static: it has replicas and takes no pending pods";
    says(|pool| pool.replicas = Some(3), reason);
    says(
        |pool| pool.problems = vec![model::Problem::unusable("", "bad")],
        "the NodePool cannot be used: bad",
    );
    let other = "other".parse().unwrap();
    says(|pool| pool.template.node_class = other, "EC2NodeClass other does not exist");
    let mars = requirements("zone=mars");
    let reason = "its requirements leave no instance type that can be bought now: nodes of EC2NodeClass \
                  default can only be in zone-1 or zone-2 or zone-3, not in mars";
    says(|pool| pool.template.requirements = mars, reason);
    let leaves = "its requirements leave no instance type that can be bought now: no instance type";
    for (text, rule) in [
        ("arch=mips", "has kubernetes.io/arch In [mips]"),
        (
            "arch=arm64&type=t.gpu&zone=zone-1",
            "has kubernetes.io/arch In [arm64] and node.kubernetes.io/instance-type In [t.gpu]",
        ),
        ("arch=arm64&arch=amd64", "meets all requirements on kubernetes.io/arch"),
        ("arch=AMD64", "has kubernetes.io/arch In [AMD64]: write amd64"),
        ("arch=x86_64", "has kubernetes.io/arch In [x86_64]: write amd64"),
    ] {
        let asked = requirements(text);
        says(|pool| pool.template.requirements = asked, &format!("{leaves} {rule}"));
    }
    let mut facts = facts(pods("p cpu=1"));
    let obstacles = vec![model::node_class::Obstacle::SubnetsNotFound];
    add_class(&mut facts, "default", ClassOffer::NotReady(obstacles));
    let reason = "EC2NodeClass default is not ready: SubnetsNotFound: \
                  spec.subnetSelectorTerms select no subnet";
    check(&facts, &[&format!("p not placed: general: {reason}")]);
    facts.node_pools.clear();
    check(&facts, &["p not placed: there is no NodePool"]);
}

#[test]
fn limits_hold_within_one_plan() {
    let beyond = "every instance type that fits exceeds the NodePool's limits";
    let medium = requirements("type=t.medium");
    let two = pods("a x2 cpu=3500m select:arch=amd64");
    let facts = pooled(two, |pool| {
        pool.limits = limits("cpu=4");
        pool.template.requirements = medium;
    });
    let reason = format!("a-1 not placed: general: {beyond} (cpu: 0 of 4 are left)");
    check(&facts, &["general [t.medium]: a-0", &reason]);
    let pods = pods("a x1 cpu=3500m select:arch=amd64");
    let facts = pooled(pods, |pool| pool.limits = limits("cpu=3"));
    check(&facts, &[&format!("a-0 not placed: general: {beyond} (cpu: 3 of 3 are left)")]);
}

#[test]
fn a_limit_narrows_the_types_before_it_refuses() {
    let facts = pooled(pods("a cpu=1 select:arch=amd64"), |pool| pool.limits = limits("cpu=4"));
    check(&facts, &["general [t.small t.gpu t.medium]: a"]);
}

#[test]
fn nodes_are_limited_as_well() {
    let pods = pods("a x3 cpu=15 select:arch=amd64");
    let plan = provision(&pooled(pods, |pool| pool.limits = limits("nodes=2")));
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (2, 1));
}

#[test]
fn new_claims_count_against_limits_as_the_largest_they_may_become() {
    let first = pods("a cpu=1 select:arch=amd64");
    let mut facts = pooled(first, |pool| pool.limits = limits("cpu=20"));
    let plan = provision(&facts);
    commit(&mut facts, &plan);
    facts.pods = pods("a cpu=1 select:arch=amd64; b cpu=3 select:arch=amd64");
    // The new claim may become a t.large with 16 CPUs: 4 are left.
    assert_eq!(types_of(&facts), ["t.gpu", "t.medium"]);
}

#[test]
fn daemons_take_their_room_on_the_types_they_land_on() {
    let mut facts = facts(pods("a cpu=1 select:arch=amd64"));
    facts.daemon_sets = vec![daemon_set("logs cpu=1")];
    check(&facts, &["general [t.gpu t.medium t.large]: a"]);
    assert_eq!(provision(&facts).new_claims[0].claim.requests, resources("cpu=2 pods=2"));
    facts.daemon_sets = vec![daemon_set("logs cpu=10 select:arch=arm64")];
    check(&facts, &[&format!("general {ALL}: a")]);
    facts.daemon_sets = vec![daemon_set("logs cpu=100")];
    check(
        &facts,
        &[
            "a not placed: general: needs 1 cpu, and DaemonSets leave none: they need 100 cpu, and the largest instance type \
           t.large has 15.9",
        ],
    );
    facts.pods = pods("a cpu=1 select:type=t.small");
    facts.daemon_sets = (0..5).map(|number| daemon_set(&format!("logs-{number}"))).collect();
    check(
        &facts,
        &[
            "a not placed: general: needs 1 pod, and DaemonSets leave none: they need 5 pods, and the largest instance type \
           t.small has 5",
        ],
    );
}

#[test]
fn daemons_that_do_not_land_take_nothing() {
    for (daemon, types) in [
        ("cpu=10 select:team=a", 4),
        ("cpu=10", 1),
        ("cpu=10 select:karpenter.sh/initialized=true", 1),
        ("cpu=10 require:team=a require:os=linux", 1),
    ] {
        let mut facts = facts(pods("a cpu=1 select:arch=amd64"));
        facts.daemon_sets = vec![daemon_set(&format!("logs {daemon}"))];
        assert_eq!(types_of(&facts).len(), types, "{daemon}");
    }
    for (effect, types) in [("NoSchedule", 4), ("PreferNoSchedule", 1)] {
        let mut facts = facts(pods("a cpu=1 select:arch=amd64 tolerate:team"));
        facts.node_pools[0].template.taints = vec![taint(&format!("team:{effect}"))];
        facts.daemon_sets = vec![daemon_set("logs cpu=10")];
        assert_eq!(types_of(&facts).len(), types, "{effect}");
    }
}

#[test]
fn min_values_must_be_reached() {
    let with = |key: &str, count, pods| {
        let wanted = requirement(key).with_min_values(Some(count));
        pooled(pods, |pool| pool.template.requirements.add(wanted))
    };
    let single = || pods("a cpu=1 select:arch=amd64");
    assert_eq!(types_of(&with(labels::INSTANCE_TYPE, 4, single())).len(), 4);
    assert_eq!(provision(&with(labels::INSTANCE_TYPE, 5, single())).unplaced.len(), 1);
    assert_eq!(types_of(&with("karpenter.k8s.aws/instance-cpu>1", 3, single())).len(), 4);
    assert_eq!(provision(&with("karpenter.k8s.aws/instance-cpu>2", 3, single())).unplaced.len(), 1);
    // Together only t.large would take them, which is too few: the second gets its own node.
    let plan = provision(&with(labels::INSTANCE_TYPE, 2, pods("a x2 cpu=3 select:arch=amd64")));
    assert_eq!(plan.new_claims.len(), 2);
}

/// What is solved and cannot be written down after all is not bought.
#[test]
fn a_claim_that_cannot_be_created_is_not_in_the_bound() {
    let many = INSTANCE_TYPES_PER_CLAIM_MAX + 1;
    let wanted =
        requirement(labels::INSTANCE_TYPE).with_min_values(Some(u32::try_from(many).unwrap()));
    let mut facts = pooled(pods("a cpu=1 select:arch=amd64"), |pool| {
        pool.template.requirements.add(wanted);
    });
    let of_type =
        |number| instance_type(&format!("t.n{number:04}"), "cpu=2 memory=4Gi pods=5", &[]);
    offer(&mut facts, (0..many).map(of_type).collect());
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (0, 1));
    assert_eq!(planner::fleets(&facts, false).bound, model::HourlyPrice::default());
}

#[test]
fn a_claim_carries_what_its_pool_says() {
    let pods = pods("a cpu=1 select:arch=amd64; b cpu=1");
    let facts = pooled(pods, |pool| {
        pool.template.labels.insert("team".to_owned(), "x".to_owned());
        pool.template.annotations.insert("note".to_owned(), "y".to_owned());
        pool.template.taints = vec![taint("slow:PreferNoSchedule")];
    });
    let plan = provision(&facts);
    let claim = &plan.new_claims[0].claim;
    assert_eq!((claim.name.as_str(), claim.batch.as_str()), ("general-8-0", "test-8-0"));
    assert_eq!((claim.version, claim.batch_index, claim.batch_size), (1, 0, 1));
    assert_eq!(claim.requests, resources("cpu=2 pods=2"));
    assert_eq!(claim.labels["team"], "x");
    assert_eq!(claim.labels[labels::NODE_POOL], "general");
    assert_eq!(claim.labels[labels::NODE_CLASS], "default");
    assert_eq!(claim.annotations["note"], "y");
    assert_eq!(claim.taints, [taint("slow:PreferNoSchedule")]);
    let arch = claim.requirements.get(labels::ARCH).unwrap();
    assert_eq!(arch.to_string(), "kubernetes.io/arch In [amd64]");
    assert_eq!(claim.allocatable, resources("cpu=3900m memory=8182Mi pods=5"));
    assert_eq!(plan.new_claims[0].cheapest.to_string(), "spot t.gpu zone-1");
    assert_eq!(plan.decisions[0].summary, "general: 1 node for 2 pods, from $0.1200 an hour");
}

#[test]
fn claims_that_are_alike_share_batches_of_a_hundred() {
    let plan = provision(&facts(pods("a x110 cpu=15 select:arch=amd64")));
    let batch = |index: usize| {
        let claim = &plan.new_claims[index].claim;
        (claim.batch.as_str(), claim.batch_index, claim.batch_size)
    };
    assert_eq!((batch(0), batch(99)), (("test-8-0", 0, 100), ("test-8-0", 99, 100)));
    assert_eq!((batch(100), batch(109)), (("test-8-1", 0, 10), ("test-8-1", 9, 10)));
}

#[test]
fn a_claim_says_which_specs_of_its_pool_and_class_it_is_of() {
    let written = [
        ("karpenter.sh/nodepool-hash", "17"),
        ("karpenter.sh/nodepool-hash-version", "v3"),
        ("karpenter.sh/other", "of the pool only"),
    ];
    let mut facts = pooled(pods("a cpu=1 select:arch=amd64"), |pool| {
        pool.annotations.extend(written.map(|(key, value)| (key.to_owned(), value.to_owned())));
    });
    let annotations = &provision(&facts).new_claims[0].claim.annotations;
    let has = written.map(|(key, _)| annotations.get(key).map(String::as_str));
    assert_eq!(has, [Some("17"), Some("v3"), None]);
    let class =
        ["karpenter.k8s.aws/ec2nodeclass-hash", "karpenter.k8s.aws/ec2nodeclass-hash-version"];
    assert_eq!(class.map(|key| annotations.get(key)), [None, None]);
    facts.class_hashes = Some([("default".parse().unwrap(), "23".to_owned())].into());
    let annotations = &provision(&facts).new_claims[0].claim.annotations;
    assert_eq!(class.map(|key| annotations[key].as_str()), ["23", "v6"]);
}
