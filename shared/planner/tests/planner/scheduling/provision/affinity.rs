//! Rows AF of the specification: who wants to be near whom, and who does not.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    HourlyPrice, Pod,
    labels::ZONE,
    selector::LabelSelector,
    topology::{PodAffinity, PodAffinityTerm},
};

use super::*;

fn preferred(key: &str, other: &str) -> PodAffinity {
    spec(&format!("away:{key}:app={other}:weight=50")).pod_anti_affinity
}

/// The pods of each node, and who is left: `a-0 b | c | left: d`. Nodes by their first pod.
fn grouped(facts: &Facts) -> String {
    let plan = provision(facts);
    let names = |pods: &[model::PodKey]| -> String {
        let mut names: Vec<&str> = pods.iter().map(|pod| pod.name.as_str()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let created = plan.new_claims.iter().map(|new| names(&new.claim.pods));
    let placed = plan.placements.iter().map(|placement| names(&placement.pods));
    let mut texts: Vec<String> = created.chain(placed).collect();
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

/// The zones of all new claims, by their first pod.
fn zones(facts: &Facts) -> BTreeMap<String, String> {
    let plan = provision(facts);
    let of = |new: &model::plan::NewClaim| {
        let zone = new.claim.requirements.get(ZONE);
        let zone = zone.and_then(|zone| zone.single_value()).map_or("?", |zone| zone);
        (new.claim.pods[0].name.to_string(), zone.to_owned())
    };
    plan.new_claims.iter().map(of).collect()
}

#[test]
fn empty_affinity_is_harmless() {
    check(&[&pods("a app=a cpu=1")], "a");
}

#[test]
fn a_pod_follows_its_target_onto_its_host() {
    let spread_out = pods("s x3 app=s cpu=1 away:host:app=s");
    let target = pods("t app=t cpu=1");
    let follower = pods("f app=f cpu=100m near:host:app=t");
    let groups = grouped(&facts([spread_out, target, follower].concat()));
    let shared = groups.split(" | ").find(|group| group.contains('f')).unwrap();
    assert!(shared.contains('t') && !groups.contains("left"), "{groups}");
}

#[test]
fn one_processor_may_be_on_many_hosts() {
    let facts = facts(pods(
        "t app=t cpu=1 away:host:app=t select:arch=arm64
         f app=f cpu=1 away:host:app=t near:arch:app=t",
    ));
    assert_eq!(grouped(&facts), "f | t");
    let all_arm = provision(&facts)
        .new_claims
        .iter()
        .all(|new| new.claim.instance_types.iter().all(|name| name.as_str() == "t.arm"));
    assert!(all_arm);
}

#[test]
fn pods_that_want_each_other_share_a_host_until_it_is_full() {
    let spec = spec("app=a cpu=100m near:host:app=a");
    check(&[&replicas("a", 3, &spec)], "a-0 a-1 a-2");
    let mut world = facts(replicas("a", 10, &spec));
    world.node_pools[0].template.requirements = requirements("type=t.small");
    assert_eq!(grouped(&world), "a-0 a-1 a-2 a-3 a-4 | left: a-5 a-6 a-7 a-8 a-9");
}

#[test]
fn pods_that_want_each_other_share_a_zone() {
    let spec = spec("app=a cpu=100m away:host:app=a near:zone:app=a");
    let texts: BTreeSet<String> = zones(&facts(replicas("a", 4, &spec))).into_values().collect();
    assert_eq!(texts.len(), 1);
    let third = zones(&facts(pods(
        "a x4 app=a cpu=100m away:host:app=a near:zone:app=a select:zone=zone-3",
    )));
    assert!(third.len() == 4 && third.values().all(|zone| zone == "zone-3"), "{third:?}");
}

#[test]
fn who_cannot_reach_the_others_may_begin_elsewhere() {
    let of = |zone: &str| spec(&format!("app=a cpu=100m select:zone={zone} near:zone:app=a"));
    check(&[&one("a", of("zone-1")), &one("b", of("zone-2"))], "a | b");
}

#[test]
fn preferences_are_relaxed_to_place_a_pod() {
    let no_target = spec("app=a cpu=1 near:host:app=none:weight=50");
    check(&[&one("a", no_target)], "a");
    let spec = spec("app=a cpu=1 away:zone:app=a:weight=50");
    let world = facts(replicas("a", 5, &spec));
    assert!(provision(&world).unplaced.is_empty());
}

#[test]
fn who_repels_is_alone() {
    check(&[&pods("a x2 app=a cpu=1 away:host:app=a")], "a-0 | a-1");
    let arm = spec("app=t cpu=2 select:arch=arm64");
    let world = facts([one("t", arm), pods("z app=z cpu=1 away:arch:app=t")].concat());
    let plan = provision(&world);
    let types =
        &plan.new_claims.iter().find(|new| new.claim.pods[0].name.as_str() == "z").unwrap().claim;
    assert!(types.instance_types.iter().all(|name| name.as_str() != "t.arm"));
}

#[test]
fn occupied_zones_leave_nothing_for_who_repels() {
    let target = |zone: &str| spec(&format!("app=t cpu=2 select:zone={zone}"));
    let targets =
        [one("t1", target("zone-1")), one("t2", target("zone-2")), one("t3", target("zone-3"))];
    let repels = pods("r app=r cpu=1 away:zone:app=t");
    check(&[&targets.concat(), &repels], "t1 | t2 | t3 | left: r");
    // A target whose zone is open may come up in any.
    check(&[&pods("t app=t cpu=2"), &repels], "t | left: r");
    check(&[&targets[..2].concat(), &repels], "r | t1 | t2");
}

#[test]
fn who_is_repelled_stays_away() {
    let guard = |zone: &str| spec(&format!("app=g cpu=2 away:zone:app=w select:zone={zone}"));
    let guards =
        [one("g1", guard("zone-1")), one("g2", guard("zone-2")), one("g3", guard("zone-3"))];
    let other = pods("w app=w cpu=1");
    check(&[&guards.concat(), &other], "g1 | g2 | g3 | left: w");
    // A guard whose zone is open blocks them all until it is known.
    check(&[&pods("g app=g cpu=2 away:zone:app=w"), &other], "g | left: w");
    let preference =
        |zone: &str| spec(&format!("app=g cpu=2 away:zone:app=w:weight=50 select:zone={zone}"));
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
    add_node(&mut facts, node("own cpu=8 memory=8Gi pods=50 zone=zone-1 host=own"));
    facts.pods.push(running("bound", "own", bound));
    facts
}

#[test]
fn who_runs_repels_too_if_it_must() {
    let pods = pods("w app=w cpu=1");
    let placed = |bound: PodSpec| provision(&with_bound(pods.clone(), bound)).placements.len();
    assert_eq!(placed(spec("app=g cpu=1")), 1);
    assert_eq!(placed(spec("app=g cpu=1 away:host:app=w")), 0);
    assert_eq!(placed(spec("app=g cpu=1 away:zone:app=w")), 0);
    let preference = spec("app=g cpu=1 away:host:app=w:weight=50");
    assert_eq!(placed(preference), 1);
}

#[test]
fn zones_fill_one_pod_for_each_plan_when_they_repel() {
    let spec = spec("app=a cpu=100m away:zone:app=a");
    let mut world = facts(Vec::new());
    for (round, zone) in ["zone-1", "zone-2", "zone-3"].into_iter().enumerate() {
        world.pods.retain(|pod| pod.node.is_some());
        world.pods.extend(replicas("new", 1, &spec));
        assert_eq!(provision(&world).new_claims.len(), 1, "round {round}");
        world.pods.pop();
        add_node(&mut world, node(&format!("{zone} cpu=0 zone={zone}")));
        world.pods.push(running(&format!("old-{round}"), zone, spec.clone()));
    }
    world.pods.extend(replicas("new", 1, &spec));
    assert_eq!(grouped(&world), "left: new-0");
}

#[test]
fn a_target_that_does_not_exist_keeps_its_followers_waiting() {
    check(&[&pods("a app=a cpu=1 near:zone:app=none")], "left: a");
}

#[test]
fn followers_wait_until_the_zone_of_their_target_is_known() {
    let followers = pods("f x10 app=f cpu=100m near:zone:app=t");
    let open = facts([pods("t app=t cpu=2"), followers.clone()].concat());
    assert_eq!(provision(&open).unplaced.len(), 10);
    let known = facts([pods("t app=t cpu=2 select:zone=zone-1"), followers.clone()].concat());
    assert!(provision(&known).unplaced.is_empty());
    assert!(zones(&known).values().all(|zone| zone == "zone-1"));
    let next = with_bound(followers, spec("app=t cpu=1"));
    assert!(provision(&next).unplaced.is_empty());
}

#[test]
fn a_chain_of_followers_resolves_in_one_plan_whatever_their_order() {
    let chain = ["db", "web near:host:app=db", "cache near:host:app=web", "ui near:host:app=cache"];
    for round in 0..4 {
        let link = |(place, words): (usize, &str)| {
            let app = words.split(' ').next().unwrap_or_default();
            pod(&format!("{words} app={app} cpu={}m", 100 * (1 + (place + round) % 4)))
        };
        let pods: Vec<Pod> = chain.into_iter().enumerate().map(link).collect();
        assert_eq!(grouped(&facts(pods.clone())), "cache db ui web", "round {round}");
        let headless = pods[1..].to_vec();
        assert_eq!(grouped(&facts(headless)), "left: cache ui web", "round {round}");
    }
}

#[test]
fn a_term_is_about_its_own_namespace_unless_it_says_more() {
    let elsewhere = |term: PodAffinityTerm| {
        let mut target = pod("t app=t cpu=2 select:zone=zone-1");
        target.key.namespace = "other".parse().unwrap();
        let mut follower = spec("app=f cpu=1");
        follower.pod_affinity.required.push(term);
        let mut world = facts(vec![target, pending("f", follower)]);
        let team = [("team".to_owned(), "a".to_owned())].into();
        world.surroundings.namespaces.insert("other".parse().unwrap(), team);
        provision(&world).unplaced.len()
    };
    let pod_affinity_term = testkit::build::term("zone:app=t");
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
    let mut shy = spec("app=shy cpu=2");
    shy.pod_anti_affinity = preferred("nowhere.example.com/rack", "db");
    // The label is unknown: a rule would find no domain for the pods that are meant.
    check(&[&one("shy", shy.clone()), &pods("db app=db cpu=1")], "db shy");
    // They may go where the one with the preference cannot.
    shy.pod_anti_affinity = preferred(ZONE, "db");
    shy.tolerations = vec![tolerates_key("dedicated")];
    let mut facts = facts([one("shy", shy), pods("db app=db cpu=1")].concat());
    let mut dedicated = node_pool("z-dedicated");
    dedicated.template.taints = vec![taint("dedicated=db:NoSchedule")];
    facts.node_pools.push(dedicated);
    assert_eq!(grouped(&facts), "db | shy");
    // Nor are nodes without the label closed to them.
    let mut facts = self::facts(pods("db app=db cpu=1"));
    let mut there = pod("there on:old app=shy cpu=1");
    std::sync::Arc::make_mut(&mut there.spec).pod_anti_affinity = preferred(ZONE, "db");
    facts.pods.push(there);
    add_node(&mut facts, node("old cpu=4 memory=8Gi pods=10"));
    assert_eq!(provision(&facts).placements.len(), 1);
}

#[test]
fn what_is_ending_counts_for_anti_affinity_but_not_for_affinity() {
    let mut facts =
        facts([pods("web app=web cpu=1"), pods("fan app=fan cpu=1 near:host:app=guard")].concat());
    let mut guard = pod("guard-0 on:old app=guard cpu=1 away:host:app=web");
    guard.deleted_at = Some(now());
    facts.pods.push(guard);
    add_node(&mut facts, node("old cpu=8 memory=8Gi pods=10"));
    assert_eq!(grouped(&facts), "web | left: fan");
    facts.pods.retain(|pod| pod.key.name.as_str() != "guard-0");
    assert_eq!(grouped(&facts), "web | left: fan");
    assert_eq!(provision(&facts).placements.len(), 1, "nothing keeps it away any more");
}

#[test]
fn who_stays_together_goes_where_it_is_cheapest_for_all() {
    let mut facts = facts(pods("a x7 app=a cpu=2 near:zone:app=a"));
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
    assert_eq!((plan.new_claims.len(), plan.new_claims[0].cheapest.zone.as_str()), (1, "zone-3"));
    assert_eq!(provision(&facts), plan);
    facts.pods.truncate(1);
    assert_eq!(provision(&facts).new_claims[0].cheapest.zone.as_str(), "zone-1");
}

#[test]
fn k3_a_node_in_a_zone_that_no_pool_has_takes_who_keeps_away() {
    let mut facts = facts(pods("t app=t cpu=1 away:zone:app=t"));
    add_node(&mut facts, node("far cpu=2 memory=4Gi pods=10 zone=zone-9"));
    assert_eq!((provision(&facts).placements.len(), provision(&facts).new_claims.len()), (1, 0));
    // Until a matching pod is there.
    facts.pods.push(pod("first on:far app=t cpu=100m"));
    assert_eq!((provision(&facts).placements.len(), provision(&facts).new_claims.len()), (0, 1));
}

#[test]
fn k4_pods_on_a_node_that_is_not_registered_keep_others_away_from_it() {
    let mut facts = facts(pods("t app=t cpu=1 away:host:app=t"));
    let mut claim = add_managed(&mut facts, "young");
    claim.phase = model::ClaimPhase::Launched;
    facts.ledger.claims.insert(claim.name.clone(), claim);
    let young = &mut facts.nodes.get_mut("young").unwrap().labels;
    young.retain(|key, _| key != model::labels::REGISTERED && key != model::labels::INITIALIZED);
    assert_eq!(provision(&facts).placements.len(), 1);
    facts.pods.push(pod("first on:young app=t cpu=100m"));
    assert_eq!((provision(&facts).placements.len(), provision(&facts).new_claims.len()), (0, 1));
}

#[test]
fn k5_the_first_of_a_group_goes_where_its_label_has_a_value() {
    let mut facts = facts(pods("t app=t cpu=1 near:team:app=t"));
    facts.node_pools[0].weight = 10;
    facts.node_pools[0].template.requirements = requirements("team!=a");
    let mut other = node_pool("other");
    other.template.labels.insert("team".to_owned(), "a".to_owned());
    facts.node_pools.push(other);
    let plan = provision(&facts);
    assert_eq!(plan.new_claims[0].claim.node_pool.as_str(), "other");
}

#[test]
fn a_label_that_no_node_has_keeps_no_pods_apart() {
    let mut world = facts(pods("a x2 app=a cpu=1 away:rack:app=a"));
    assert_eq!(grouped(&world), "a-0 a-1");
    add_node(&mut world, node("old cpu=4 memory=8Gi pods=10"));
    assert_eq!(provision(&world).new_claims.len(), 0);
    // Once a node may have it, it does.
    world.nodes.clear();
    let mut racked = node_pool("racked");
    racked.template.labels.insert("rack".to_owned(), "one".to_owned());
    world.node_pools.push(racked);
    assert_eq!(provision(&world).unplaced.len(), 1);
    world.node_pools.pop();
    world.node_pools[0].template.requirements = requirements("rack");
    assert_eq!(provision(&world).unplaced.len(), 2);
}

#[test]
fn who_waits_for_the_pod_of_a_daemon_set_reads_that_it_comes_later() {
    let mut facts = facts(pods("a cpu=1 near:host:app=logs"));
    let text = "a new node has no pod that its affinity asks to be with (app=logs)";
    assert_eq!(provision(&facts).unplaced[0].reasons[0].text, text);
    facts.daemon_sets = vec![daemon_set("logs app=logs cpu=10m")];
    let later = "(the pod of DaemonSet default/logs does not count: it comes after the node)";
    assert_eq!(provision(&facts).unplaced[0].reasons[0].text, format!("{text} {later}"));
}
