//! Rows AF of the specification: who wants to be near whom, and who does not.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    HourlyPrice, LabelKey, Pod,
    labels::{ARCH, HOSTNAME, ZONE},
    selector::LabelSelector,
    topology::{PodAffinity, PodAffinityTerm, Weighted},
};

use super::*;

/// The pods with this label.
fn term(key: &str, app: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: LabelKey::new(key).unwrap(),
        selector: Some(LabelSelector::of_labels([("app", app)])),
        namespaces: BTreeSet::new(),
        namespace_selector: None,
    }
}

fn app(name: &str, requests: &str) -> PodSpec {
    PodSpec { labels: [("app".to_owned(), name.to_owned())].into(), ..spec(requests) }
}

fn near(key: &str, other: &str, mut pod_spec: PodSpec) -> PodSpec {
    pod_spec.pod_affinity.required.push(term(key, other));
    pod_spec
}

fn away(key: &str, other: &str, mut pod_spec: PodSpec) -> PodSpec {
    pod_spec.pod_anti_affinity.required.push(term(key, other));
    pod_spec
}

fn preferred(key: &str, other: &str) -> PodAffinity {
    let preferred = vec![Weighted { weight: 50, term: term(key, other) }];
    PodAffinity { required: Vec::new(), preferred }
}

fn zoned(zone: &str, pod_spec: PodSpec) -> PodSpec {
    let selector = requirements(&[&format!("topology.kubernetes.io/zone={zone}")]);
    PodSpec { node_selector: selector, ..pod_spec }
}

/// The pods of each node, and who is left: `a-0 b | c | left: d`. Nodes by their first pod.
fn grouped(facts: &Facts) -> String {
    let plan = provision(facts);
    let names = |pods: &[model::PodKey]| -> String {
        let mut names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let promised = plan.promises.iter().map(|promise| names(&promise.claim.pods));
    let placed = plan.placements.iter().map(|placement| names(&placement.pods));
    let mut texts: Vec<String> = promised.chain(placed).collect();
    texts.sort();
    let left: Vec<model::PodKey> =
        plan.unplaced.iter().map(|unplaced| unplaced.pod.clone()).collect();
    if !left.is_empty() {
        texts.push(format!("left: {}", names(&left)));
    }
    texts.join(" | ")
}

#[track_caller]
fn check(pods: &[&[Pod]], expected: &str) {
    assert_eq!(grouped(&facts(pods.concat())), expected);
}

fn one(name: &str, spec: PodSpec) -> Vec<Pod> {
    vec![pending(name, spec)]
}

/// The zones of all promised claims, by their first pod.
fn zones(facts: &Facts) -> BTreeMap<String, String> {
    let plan = provision(facts);
    let of = |promise: &model::plan::Promise| {
        let zone = promise.claim.requirements.get(ZONE);
        let zone = zone.and_then(|zone| zone.single_value()).map_or("?", |zone| zone);
        (promise.claim.pods[0].name.to_string(), zone.to_owned())
    };
    plan.promises.iter().map(of).collect()
}

#[test]
fn empty_affinity_is_harmless() {
    check(&[&one("a", app("a", "cpu=1"))], "a");
}

#[test]
fn a_pod_follows_its_target_onto_its_host() {
    let spread_out = replicas("s", 3, &away(HOSTNAME, "s", app("s", "cpu=1")));
    let target = one("t", app("t", "cpu=1"));
    let follower = one("f", near(HOSTNAME, "t", app("f", "cpu=100m")));
    let groups = grouped(&facts([spread_out, target, follower].concat()));
    let shared = groups.split(" | ").find(|group| group.contains('f')).unwrap();
    assert!(shared.contains('t') && !groups.contains("left"), "{groups}");
}

#[test]
fn one_processor_may_be_on_many_hosts() {
    let apart = |name: &str| away(HOSTNAME, "t", app(name, "cpu=1"));
    let target =
        PodSpec { node_selector: requirements(&["kubernetes.io/arch=arm64"]), ..apart("t") };
    let facts = facts([one("t", target), one("f", near(ARCH, "t", apart("f")))].concat());
    assert_eq!(grouped(&facts), "f | t");
    let all_arm = provision(&facts)
        .promises
        .iter()
        .all(|promise| promise.claim.instance_types.iter().all(|name| name.as_str() == "t.arm"));
    assert!(all_arm);
}

#[test]
fn pods_that_want_each_other_share_a_host_until_it_is_full() {
    let spec = near(HOSTNAME, "a", app("a", "cpu=100m"));
    check(&[&replicas("a", 3, &spec)], "a-0 a-1 a-2");
    let mut world = facts(replicas("a", 10, &spec));
    world.node_pools[0].template.requirements =
        requirements(&["node.kubernetes.io/instance-type=t.small"]);
    assert_eq!(grouped(&world), "a-0 a-1 a-2 a-3 a-4 | left: a-5 a-6 a-7 a-8 a-9");
}

#[test]
fn pods_that_want_each_other_share_a_zone() {
    let spec = near(ZONE, "a", away(HOSTNAME, "a", app("a", "cpu=100m")));
    let texts: BTreeSet<String> = zones(&facts(replicas("a", 4, &spec))).into_values().collect();
    assert_eq!(texts.len(), 1);
    let third = zones(&facts(replicas("a", 4, &zoned("zone-3", spec))));
    assert!(third.len() == 4 && third.values().all(|zone| zone == "zone-3"), "{third:?}");
}

#[test]
fn who_cannot_reach_the_others_may_begin_elsewhere() {
    let of = |zone: &str| near(ZONE, "a", zoned(zone, app("a", "cpu=100m")));
    check(&[&one("a", of("zone-1")), &one("b", of("zone-2"))], "a | b");
}

#[test]
fn preferences_are_given_up_to_place_a_pod() {
    let no_target = PodSpec { pod_affinity: preferred(HOSTNAME, "none"), ..app("a", "cpu=1") };
    check(&[&one("a", no_target)], "a");
    let spec = PodSpec { pod_anti_affinity: preferred(ZONE, "a"), ..app("a", "cpu=1") };
    let world = facts(replicas("a", 5, &spec));
    assert!(provision(&world).unplaced.is_empty());
}

#[test]
fn who_repels_is_alone() {
    check(&[&replicas("a", 2, &away(HOSTNAME, "a", app("a", "cpu=1")))], "a-0 | a-1");
    let arm =
        PodSpec { node_selector: requirements(&["kubernetes.io/arch=arm64"]), ..app("t", "cpu=2") };
    let world = facts([one("t", arm), one("z", away(ARCH, "t", app("z", "cpu=1")))].concat());
    let plan = provision(&world);
    let types = &plan
        .promises
        .iter()
        .find(|promise| promise.claim.pods[0].name.as_str() == "z")
        .unwrap()
        .claim;
    assert!(types.instance_types.iter().all(|name| name.as_str() != "t.arm"));
}

#[test]
fn occupied_zones_leave_nothing_for_who_repels() {
    let target = |zone: &str| zoned(zone, app("t", "cpu=2"));
    let targets =
        [one("t1", target("zone-1")), one("t2", target("zone-2")), one("t3", target("zone-3"))];
    let repels = one("r", away(ZONE, "t", app("r", "cpu=1")));
    check(&[&targets.concat(), &repels], "t1 | t2 | t3 | left: r");
    // A target whose zone is open may come up in any.
    check(&[&one("t", app("t", "cpu=2")), &repels], "t | left: r");
    check(&[&targets[..2].concat(), &repels], "r | t1 | t2");
}

#[test]
fn who_is_repelled_stays_away() {
    let guard = |zone: &str| zoned(zone, away(ZONE, "w", app("g", "cpu=2")));
    let guards =
        [one("g1", guard("zone-1")), one("g2", guard("zone-2")), one("g3", guard("zone-3"))];
    let other = one("w", app("w", "cpu=1"));
    check(&[&guards.concat(), &other], "g1 | g2 | g3 | left: w");
    // A guard whose zone is open blocks them all until it is known.
    check(&[&one("g", away(ZONE, "w", app("g", "cpu=2"))), &other], "g | left: w");
    let preference = |zone: &str| {
        zoned(zone, PodSpec { pod_anti_affinity: preferred(ZONE, "w"), ..app("g", "cpu=2") })
    };
    let preferences = [
        one("g1", preference("zone-1")),
        one("g2", preference("zone-2")),
        one("g3", preference("zone-3")),
    ];
    assert!(!grouped(&facts([preferences.concat(), other].concat())).contains("left"));
}

/// A node in zone 1 with room and the pod `bound`.
fn with_bound(pods: Vec<Pod>, bound: PodSpec) -> Facts {
    let mut facts = facts(pods);
    let mut large = node("own", "cpu=8 memory=8Gi pods=50");
    large.labels.insert(ZONE.to_owned(), "zone-1".to_owned());
    large.labels.insert(HOSTNAME.to_owned(), "own".to_owned());
    add_node(&mut facts, large);
    facts.pods.push(running("bound", "own", bound));
    facts
}

#[test]
fn who_runs_repels_too_if_it_must() {
    let pods = one("w", app("w", "cpu=1"));
    let placed = |bound: PodSpec| provision(&with_bound(pods.clone(), bound)).placements.len();
    assert_eq!(placed(app("g", "cpu=1")), 1);
    assert_eq!(placed(away(HOSTNAME, "w", app("g", "cpu=1"))), 0);
    assert_eq!(placed(away(ZONE, "w", app("g", "cpu=1"))), 0);
    let preference = PodSpec { pod_anti_affinity: preferred(HOSTNAME, "w"), ..app("g", "cpu=1") };
    assert_eq!(placed(preference), 1);
}

#[test]
fn zones_fill_one_pod_for_each_plan_when_they_repel() {
    let spec = away(ZONE, "a", app("a", "cpu=100m"));
    let mut world = facts(Vec::new());
    for (round, zone) in ["zone-1", "zone-2", "zone-3"].into_iter().enumerate() {
        world.pods.retain(|pod| pod.node.is_some());
        world.pods.extend(replicas("new", 1, &spec));
        assert_eq!(provision(&world).promises.len(), 1, "round {round}");
        world.pods.pop();
        let mut full = node(zone, "cpu=0");
        full.labels.insert(ZONE.to_owned(), zone.to_owned());
        add_node(&mut world, full);
        world.pods.push(running(&format!("old-{round}"), zone, spec.clone()));
    }
    world.pods.extend(replicas("new", 1, &spec));
    assert_eq!(grouped(&world), "left: new-0");
}

#[test]
fn a_target_that_does_not_exist_keeps_its_followers_waiting() {
    check(&[&one("a", near(ZONE, "none", app("a", "cpu=1")))], "left: a");
}

#[test]
fn followers_wait_until_the_zone_of_their_target_is_known() {
    let followers = replicas("f", 10, &near(ZONE, "t", app("f", "cpu=100m")));
    let open = facts([one("t", app("t", "cpu=2")), followers.clone()].concat());
    assert_eq!(provision(&open).unplaced.len(), 10);
    let known = facts([one("t", zoned("zone-1", app("t", "cpu=2"))), followers.clone()].concat());
    assert!(provision(&known).unplaced.is_empty());
    assert!(zones(&known).values().all(|zone| zone == "zone-1"));
    let next = with_bound(followers, app("t", "cpu=1"));
    assert!(provision(&next).unplaced.is_empty());
}

#[test]
fn a_chain_of_followers_resolves_in_one_plan_whatever_their_order() {
    let chain = ["db", "web", "cache", "ui"];
    for round in 0..4 {
        let link = |place: usize| {
            let cpu = format!("cpu={}m", 100 * (1 + (place + round) % 4));
            let pod_spec = app(chain[place], &cpu);
            let spec =
                if place == 0 { pod_spec } else { near(HOSTNAME, chain[place - 1], pod_spec) };
            pending(chain[place], spec)
        };
        let pods: Vec<Pod> = (0..4).map(link).collect();
        assert_eq!(grouped(&facts(pods.clone())), "cache db ui web", "round {round}");
        let headless = pods[1..].to_vec();
        assert_eq!(grouped(&facts(headless)), "left: cache ui web", "round {round}");
    }
}

#[test]
fn a_term_is_about_its_own_namespace_unless_it_says_more() {
    let elsewhere = |term: PodAffinityTerm| {
        let mut target = pending("t", zoned("zone-1", app("t", "cpu=2")));
        target.key.namespace = "other".parse().unwrap();
        let mut follower = app("f", "cpu=1");
        follower.pod_affinity.required.push(term);
        let mut world = facts(vec![target, pending("f", follower)]);
        let team = [("team".to_owned(), "a".to_owned())].into();
        world.surroundings.namespaces.insert("other".parse().unwrap(), team);
        provision(&world).unplaced.len()
    };
    let pod_affinity_term = term(ZONE, "t");
    assert_eq!(elsewhere(pod_affinity_term.clone()), 1);
    let named = PodAffinityTerm {
        namespaces: ["other".parse().unwrap()].into(),
        ..pod_affinity_term.clone()
    };
    assert_eq!(elsewhere(named), 0);
    let by = |selector| PodAffinityTerm {
        namespace_selector: Some(selector),
        ..pod_affinity_term.clone()
    };
    assert_eq!(elsewhere(by(LabelSelector::default())), 0);
    assert_eq!(elsewhere(by(LabelSelector::of_labels([("team", "a")]))), 0);
    assert_eq!(elsewhere(by(LabelSelector::of_labels([("team", "b")]))), 1);
}

#[test]
fn a_preference_to_keep_away_is_no_rule_for_those_that_are_meant() {
    let mut shy = app("shy", "cpu=2");
    shy.pod_anti_affinity = preferred("nowhere.example.com/rack", "db");
    // Nobody knows the label: a rule would find no domain for the pods that are meant.
    check(&[&one("shy", shy.clone()), &one("db", app("db", "cpu=1"))], "db shy");
    // They may go where the one with the preference cannot.
    shy.pod_anti_affinity = preferred(ZONE, "db");
    shy.tolerations = vec![tolerates("dedicated")];
    let mut facts = facts([one("shy", shy), one("db", app("db", "cpu=1"))].concat());
    let mut dedicated = pool("z-dedicated");
    dedicated.template.taints = vec![taint("dedicated=db:NoSchedule")];
    facts.node_pools.push(dedicated);
    assert_eq!(grouped(&facts), "db | shy");
    // Nor are nodes without the label closed to them.
    let mut facts = self::facts(one("db", app("db", "cpu=1")));
    let mut there = running("there", "old", app("shy", "cpu=1"));
    std::sync::Arc::make_mut(&mut there.spec).pod_anti_affinity = preferred(ZONE, "db");
    facts.pods.push(there);
    add_node(&mut facts, node("old", "cpu=4 memory=8Gi pods=10"));
    assert_eq!(provision(&facts).placements.len(), 1);
}

#[test]
fn what_is_ending_still_keeps_others_away_but_nobody_is_near_to_it() {
    let mut facts = facts(
        [one("web", app("web", "cpu=1")), one("fan", near(HOSTNAME, "guard", app("fan", "cpu=1")))]
            .concat(),
    );
    let mut guard = running("guard-0", "old", away(HOSTNAME, "web", app("guard", "cpu=1")));
    guard.deleted_at = Some(now());
    facts.pods.push(guard);
    add_node(&mut facts, node("old", "cpu=8 memory=8Gi pods=10"));
    assert_eq!(grouped(&facts), "web | left: fan");
    facts.pods.retain(|pod| pod.key.name.as_str() != "guard-0");
    assert_eq!(grouped(&facts), "web | left: fan");
    assert_eq!(provision(&facts).placements.len(), 1, "nothing keeps it away any more");
}

#[test]
fn who_stays_together_goes_where_it_is_cheapest_for_all() {
    let mut facts = facts(replicas("a", 7, &near(ZONE, "a", app("a", "cpu=2"))));
    let mut types = vec![
        instance_type("t.large", "cpu=16 memory=32Gi pods=50", &[]),
        instance_type("t.medium", "cpu=4 memory=8Gi pods=5", &[]),
    ];
    // Zone 1 is the cheapest for the first pod, zone 3 for the seven.
    for (kind, zone) in [("t.medium", "zone-1"), ("t.large", "zone-3")] {
        let offerings = types.iter_mut().filter(|known| known.name.as_str() == kind);
        let offerings = offerings.flat_map(|known| known.offerings.iter_mut());
        for offering in offerings.filter(|offering| offering.zone.as_str() == zone) {
            offering.price = HourlyPrice::from_nanos(offering.price.nanos() / 2);
        }
    }
    offer(&mut facts, types);
    let plan = provision(&facts);
    assert_eq!((plan.promises.len(), plan.promises[0].cheapest.zone.as_str()), (1, "zone-3"));
    assert_eq!(provision(&facts), plan);
    facts.pods.truncate(1);
    assert_eq!(provision(&facts).promises[0].cheapest.zone.as_str(), "zone-1");
}

#[test]
fn k3_a_node_in_a_zone_that_no_pool_has_takes_who_keeps_away() {
    let mut facts = facts(one("t", away(ZONE, "t", app("t", "cpu=1"))));
    let mut far = node("far", "cpu=2 memory=4Gi pods=10");
    far.labels.insert(ZONE.to_owned(), "zone-9".to_owned());
    add_node(&mut facts, far);
    assert_eq!((provision(&facts).placements.len(), provision(&facts).promises.len()), (1, 0));
    // Until somebody is there.
    facts.pods.push(running("first", "far", app("t", "cpu=100m")));
    assert_eq!((provision(&facts).placements.len(), provision(&facts).promises.len()), (0, 1));
}

#[test]
fn k4_pods_on_a_node_that_is_not_registered_keep_others_away_from_it() {
    let mut facts = facts(one("t", away(HOSTNAME, "t", app("t", "cpu=1"))));
    let mut claim = add_managed(&mut facts, "young");
    claim.phase = model::ClaimPhase::Launched;
    facts.ledger.claims.insert(claim.name.clone(), claim);
    let young = &mut facts.nodes.get_mut("young").unwrap().labels;
    young.retain(|key, _| key != model::labels::REGISTERED && key != model::labels::INITIALIZED);
    assert_eq!(provision(&facts).placements.len(), 1);
    facts.pods.push(running("first", "young", app("t", "cpu=100m")));
    assert_eq!((provision(&facts).placements.len(), provision(&facts).promises.len()), (0, 1));
}

#[test]
fn k5_the_first_of_a_group_goes_where_its_label_has_a_value() {
    let mut facts = facts(one("t", near("team", "t", app("t", "cpu=1"))));
    facts.node_pools[0].weight = 10;
    facts.node_pools[0].template.requirements = requirements(&["team!=a"]);
    let mut other = pool("other");
    other.template.labels.insert("team".to_owned(), "a".to_owned());
    facts.node_pools.push(other);
    let plan = provision(&facts);
    assert_eq!(plan.promises[0].claim.node_pool.as_str(), "other");
}
