//! Spread, affinity and anti-affinity.
//!
//! Without a change, `on-node` is with `bound` on an m7g.large in us-west-2a, `on-claim` on a claim
//! that may become one there, `web-0` and `web-1` on a new claim there.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    Plan,
    facts::Facts,
    plan::{Placement, Target},
};
use testkit::build::{id, new_claim, node, pod, pod_key, requirements, term};

use super::{check, good_claim};

/// A spread over zones that no change loosens.
const SPREAD: &str = "spread:zone:app=web";

/// The pods `on-node`, `web-0` and `web-1` with `app=web` and these words.
fn web(facts: &mut Facts, words: &str) {
    for (place, name) in [(0, "web-0 cpu=1"), (1, "web-1 cpu=500m"), (2, "on-node cpu=500m")] {
        facts.pods[place] = pod(&format!("{name} app=web {words}"));
    }
}

/// Creates a claim of its own in `zone`, where the second web pod goes.
fn second_claim(facts: &mut Facts, plan: &mut Plan, zone: &str) {
    let mut claim = good_claim("general-7-1");
    claim.requirements = requirements(&format!("paid=on-demand zone={zone}"));
    claim.instance_types = [id("m7g.large")].into();
    claim.batch = id("test-7-1");
    let offering = model::OfferingKey {
        capacity_type: model::CapacityType::OnDemand,
        instance_type: id("m7g.large"),
        zone: id(zone),
    };
    plan.new_claims[0].claim.pods = vec![pod_key("web-0")];
    let mut second = new_claim(claim, &["web-1"]);
    let class = &facts.classes.as_ref().unwrap()["default"];
    let model::facts::ClassOffer::Ready(types) = class else { panic!("the class is ready") };
    second.price = types
        .iter()
        .find_map(|instance_type| Some(instance_type.offering(&offering)?.price))
        .unwrap();
    second.cheapest = offering;
    plan.new_claims.push(second);
}

#[test]
fn zones_are_at_most_max_skew_apart() {
    let all_in_a = ["us-west-2a has 3, the least 0, maxSkew is 1"];
    check(|facts, _| web(facts, SPREAD), &all_in_a);
    check(|facts, _| web(facts, "spread:zone:app=web:skew=3"), &[]);
    // Two in one zone and one in the other.
    check(
        |facts, plan| {
            web(facts, SPREAD);
            second_claim(facts, plan, "us-west-2b");
        },
        &[],
    );
    // What is bound counts too.
    check(
        |facts, plan| {
            web(facts, SPREAD);
            second_claim(facts, plan, "us-west-2b");
            facts.pods[4] = pod("bound app=web on:general-6-0");
        },
        &["us-west-2a has 3, the least 1, maxSkew is 1"],
    );
    // Not if it ended, ends, or is in another namespace.
    for other in [
        pod("bound app=web on:general-6-0 failed"),
        pod("bound app=web on:general-6-0 terminating:-60"),
        pod("other/bound app=web on:general-6-0"),
    ] {
        check(
            |facts, plan| {
                web(facts, SPREAD);
                second_claim(facts, plan, "us-west-2b");
                facts.pods[4] = other.clone();
            },
            &[],
        );
    }
}

#[test]
fn a_spread_pins_its_pod() {
    let wide = "paid=on-demand zone=us-west-2a,us-west-2b";
    check(
        |facts, plan| {
            web(facts, "spread:zone:app=web:skew=3");
            plan.new_claims[0].claim.requirements = requirements(wide);
            plan.new_claims[0].claim.instance_types = [id("m7g.large")].into();
        },
        &["has no certain topology.kubernetes.io/zone", "has no certain"],
    );
    // On nodes without the label no pod is spread.
    check(
        |facts, plan| {
            web(facts, "spread:zone:app=web:skew=3");
            let byo = node("byo");
            plan.placements[0].target = Target::Node(byo.name.clone());
            facts.nodes.insert(byo.name.clone(), byo);
            facts.nodes.get_mut("byo").unwrap().labels.clear();
        },
        &["pod default/on-node breaks its topology spread: its place has no certain"],
    );
}

#[test]
fn each_host_takes_max_skew_pods() {
    check(|facts, _| web(facts, "spread:host:app=web:skew=2"), &[]);
    check(|facts, _| web(facts, "spread:host:app=web"), &["claim general-7-0 has 2, the least 0"]);
}

#[test]
fn too_few_domains_make_the_least_zero() {
    let min = |domains| {
        move |facts: &mut Facts, plan: &mut Plan| {
            web(facts, &format!("{SPREAD}:domains={domains}"));
            second_claim(facts, plan, "us-west-2b");
            facts.pods[4] = pod("bound on:general-6-0");
        }
    };
    check(min(2), &[]);
    check(min(3), &["us-west-2a has 2, the least 0"]);
}

#[test]
fn pods_on_nodes_that_do_not_count_are_not_counted() {
    let with_bound = |facts: &mut Facts, plan: &mut Plan| {
        second_claim(facts, plan, "us-west-2b");
        facts.pods[4] = pod("bound app=web on:byo");
        facts.pods[2] = pod("on-node cpu=500m");
        let byo = node("byo zone=us-west-2a taint:dedicated=x:NoSchedule");
        facts.nodes.insert(byo.name.clone(), byo);
    };
    let counted = ["us-west-2a has 2, the least 0"];
    let to_two = |facts: &mut Facts, plan: &mut Plan| {
        with_bound(facts, plan);
        // One pod in zone a beside the bound one, none in zone b.
        facts.pods[1] = pod("web-1 cpu=500m");
    };
    check(
        |facts, plan| {
            web(facts, SPREAD);
            to_two(facts, plan);
        },
        &counted,
    );
    check(
        |facts, plan| {
            web(facts, "spread:zone:app=web:honors-taints");
            to_two(facts, plan);
        },
        &[],
    );
    check(
        |facts, plan| {
            web(facts, "spread:zone:app=web:honors-taints tolerate:dedicated");
            to_two(facts, plan);
        },
        &counted,
    );
    let chooses = |policy: &'static str| {
        move |facts: &mut Facts, plan: &mut Plan| {
            web(facts, &format!("{SPREAD}{policy} select:pool=general"));
            to_two(facts, plan);
        }
    };
    check(chooses(""), &[]);
    check(chooses(":ignores-affinity"), &counted);
}

#[test]
fn a_pod_is_near_what_it_wants() {
    let near = |key: &'static str, pods: &'static str| {
        move |facts: &mut Facts, _: &mut Plan| {
            facts.pods[2] = pod(&format!("on-node cpu=500m near:{key}:{pods}"));
        }
    };
    check(
        near("host", "app=db"),
        &["pod default/on-node breaks its affinity: no pod that it requires"],
    );
    check(
        |facts, plan| {
            near("host", "app=db")(facts, plan);
            facts.pods[4] = pod("bound app=db on:general-6-0");
        },
        &[],
    );
    // In the zone, and on another node of it.
    check(
        |facts, plan| {
            near("zone", "app=web")(facts, plan);
            facts.pods[0] = pod("web-0 cpu=1 app=web");
        },
        &[],
    );
    check(
        |facts, plan| {
            near("zone", "app=web")(facts, plan);
            facts.pods[0] = pod("web-0 cpu=1");
            facts.pods[1] = pod("web-1 cpu=500m app=web");
            second_claim(facts, plan, "us-west-2b");
        },
        &["no pod that it requires is in topology.kubernetes.io/zone=us-west-2a"],
    );
    check(near("rack", "app=db"), &["its place has no certain rack"]);
}

#[test]
fn pods_that_want_each_other_begin_in_one_place() {
    let near = "near:zone:app=web";
    check(|facts, _| web(facts, near), &[]);
    let begin_twice = |facts: &mut Facts, plan: &mut Plan| {
        web(facts, near);
        second_claim(facts, plan, "us-west-2b");
    };
    check(begin_twice, &["two groups begin, in topology.kubernetes.io/zone=us-west-2a"]);
    // Where a matching pod is already, there is no first.
    check(
        |facts, plan| {
            begin_twice(facts, plan);
            facts.pods[4] = pod("bound app=web on:general-6-0");
        },
        &["it is the first in topology.kubernetes.io/zone=us-west-2b, others in us-west-2a"],
    );
    // One that may not go there may.
    check(
        |facts, plan| {
            begin_twice(facts, plan);
            let stubborn = format!("web-1 cpu=500m app=web select:zone=us-west-2b {near}");
            facts.pods[1] = pod(&stubborn);
        },
        &[],
    );
}

#[test]
fn pods_that_repel_each_other_are_apart() {
    check(
        |facts, _| web(facts, "away:host:app=web"),
        &["pod default/web-0 may not be with default/web-1"],
    );
    let spread_out = |facts: &mut Facts, plan: &mut Plan| second_claim(facts, plan, "us-west-2b");
    check(
        |facts, plan| {
            web(facts, "away:host:app=web");
            spread_out(facts, plan);
        },
        &[],
    );
    check(
        |facts, plan| {
            web(facts, "away:zone:app=web");
            spread_out(facts, plan);
        },
        &["both may be in topology.kubernetes.io/zone=us-west-2a"],
    );
}

#[test]
fn what_is_repelled_stays_away_too() {
    let guarded = |facts: &mut Facts, key: &str| {
        facts.pods[4] = pod(&format!("bound away:{key}:app=web on:general-6-0"));
        facts.pods[2] = pod("on-node cpu=500m app=web");
    };
    let expected = ["pod default/bound may not be with default/on-node"];
    check(|facts, _| guarded(facts, "host"), &expected);
    check(
        |facts, plan| {
            guarded(facts, "zone");
            plan.placements[0].target = Target::Claim(id("general-6-1"));
            plan.placements[0].pods = vec![pod_key("on-node")];
            plan.placements.truncate(1);
            plan.new_claims.truncate(0);
            let mut claim = facts.ledger.claims["general-6-1"].clone();
            claim.requirements = requirements("zone=us-west-2a,us-west-2b");
            facts.ledger.claims.insert(claim.name.clone(), claim);
        },
        &expected,
    );
}

#[test]
fn pods_that_were_together_before_are_no_fault() {
    check(
        |facts, _| {
            facts.pods[4] = pod("bound app=old away:host:app=old on:general-6-0");
            facts.pods.push(pod("bound-2 app=old on:general-6-0"));
        },
        &[],
    );
}

#[test]
fn a_term_is_about_its_namespaces() {
    let check_term = |names: &[&str], labels: Option<&str>, expected: &[&str]| {
        let mut about = term("host:app=web");
        about.namespaces = names.iter().map(|name| id(name)).collect::<BTreeSet<_>>();
        about.namespace_selector = labels.map(|text| match text.split_once('=') {
            Some(pair) => model::selector::LabelSelector::of_labels([pair]),
            None => model::selector::LabelSelector::default(),
        });
        check(
            |facts, plan| {
                facts.pods[2] = pod("other/on-node app=web cpu=1m");
                let mut guard = pod("bound on:general-6-0");
                let away = &mut Arc::make_mut(&mut guard.spec).pod_anti_affinity;
                away.required.push(about.clone());
                facts.pods[4] = guard;
                plan.placements[0] = Placement {
                    target: Target::Node(id("general-6-0")),
                    pods: vec![pod_key("other/on-node")],
                };
                let team = [("team".to_owned(), "a".to_owned())].into();
                facts.surroundings.namespaces.insert(id("other"), team);
            },
            expected,
        );
    };
    let expected = ["pod default/bound may not be with other/on-node"];
    check_term(&[], None, &[]);
    check_term(&["default"], None, &[]);
    check_term(&["other"], None, &expected);
    check_term(&["default"], Some("team=a"), &expected);
    check_term(&[], Some("team=b"), &[]);
    check_term(&[], Some(""), &expected);
}
