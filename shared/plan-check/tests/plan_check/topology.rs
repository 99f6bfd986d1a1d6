//! Spread, affinity and anti-affinity.
//!
//! Without a change, `on-node` is with `bound` on an m7g.large in us-west-2a, `on-claim` on a claim
//! that may become one there, `web-0` and `web-1` on a new claim there.

use std::collections::BTreeSet;

use model::{
    Plan,
    facts::Facts,
    labels::{HOSTNAME, ZONE},
    plan::{Placement, Target},
    topology::{NodeInclusionPolicy, SpreadConstraint},
};
use testkit::build::{
    PodBuilder, id, node, pod, pod_key, promise, requirements, spread, taint, term, tolerates_key,
};

use super::{check, new_claim};

/// The pods `on-node`, `web-0` and `web-1` as `change` makes them, with `app=web`.
fn web(facts: &mut Facts, change: impl Fn(PodBuilder) -> PodBuilder) {
    for (place, name, requests) in
        [(0, "web-0", "cpu=1"), (1, "web-1", "cpu=500m"), (2, "on-node", "cpu=500m")]
    {
        let pod = pod(name).requests(requests).label("app=web");
        facts.pods[place] = change(pod).build();
    }
}

/// Promises a claim of its own in `zone`, where the second web pod goes.
fn second_claim(facts: &mut Facts, plan: &mut Plan, zone: &str) {
    let mut claim = new_claim("general-7-1");
    claim.requirements =
        requirements(&format!("karpenter.sh/capacity-type In on-demand; {ZONE} In {zone}"));
    claim.instance_types = [id("m7g.large")].into();
    claim.batch = id("test-7-1");
    let offering = model::OfferingKey {
        capacity_type: model::CapacityType::OnDemand,
        instance_type: id("m7g.large"),
        zone: id(zone),
    };
    plan.promises[0].claim.pods = vec![pod_key("web-0")];
    let mut second = promise(claim, &["web-1"]);
    let class = &facts.classes.as_ref().unwrap()["default"];
    let model::facts::ClassOffer::Ready(types) = class else { panic!("the class is ready") };
    second.price = types
        .iter()
        .find_map(|instance_type| Some(instance_type.offering(&offering)?.price))
        .unwrap();
    second.cheapest = offering;
    plan.promises.push(second);
}

fn hard(change: impl Fn(&mut SpreadConstraint)) -> impl Fn(PodBuilder) -> PodBuilder {
    move |pod| {
        let mut constraint = spread(ZONE, 1, "app=web");
        change(&mut constraint);
        pod.spreads(constraint)
    }
}

#[test]
fn zones_are_at_most_max_skew_apart() {
    let all_in_a = ["us-west-2a has 3, the least 0, maxSkew is 1"];
    check(|facts, _| web(facts, hard(|_| ())), &all_in_a);
    check(|facts, _| web(facts, hard(|spread_constraint| spread_constraint.max_skew = 3)), &[]);
    // Two in one zone and one in the other.
    check(
        |facts, plan| {
            web(facts, hard(|_| ()));
            second_claim(facts, plan, "us-west-2b");
        },
        &[],
    );
    // What is bound counts too.
    check(
        |facts, plan| {
            web(facts, hard(|_| ()));
            second_claim(facts, plan, "us-west-2b");
            facts.pods[4] = pod("bound").label("app=web").on("general-6-0").build();
        },
        &["us-west-2a has 3, the least 1, maxSkew is 1"],
    );
    // Not if it ended, ends, or is in another namespace.
    for other in [
        pod("bound").label("app=web").on("general-6-0").phase(model::pod::PodPhase::Failed),
        pod("bound").label("app=web").on("general-6-0").terminating(jiff::Timestamp::UNIX_EPOCH),
        pod("other/bound").label("app=web").on("general-6-0"),
    ] {
        check(
            |facts, plan| {
                web(facts, hard(|_| ()));
                second_claim(facts, plan, "us-west-2b");
                facts.pods[4] = other.build();
            },
            &[],
        );
    }
}

#[test]
fn a_spread_pins_its_pod() {
    let wide = format!("karpenter.sh/capacity-type In on-demand; {ZONE} In us-west-2a us-west-2b");
    check(
        |facts, plan| {
            web(facts, hard(|spread_constraint| spread_constraint.max_skew = 3));
            plan.promises[0].claim.requirements = requirements(&wide);
            plan.promises[0].claim.instance_types = [id("m7g.large")].into();
        },
        &["has no certain topology.kubernetes.io/zone", "has no certain"],
    );
    // On nodes without the label nobody is spread.
    check(
        |facts, plan| {
            web(facts, hard(|spread_constraint| spread_constraint.max_skew = 3));
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
    let by_host =
        |max_skew| move |pod: PodBuilder| pod.spreads(spread(HOSTNAME, max_skew, "app=web"));
    check(|facts, _| web(facts, by_host(2)), &[]);
    check(|facts, _| web(facts, by_host(1)), &["claim general-7-0 has 2, the least 0"]);
}

#[test]
fn too_few_domains_make_the_least_zero() {
    let min = |domains| {
        move |facts: &mut Facts, plan: &mut Plan| {
            web(
                facts,
                hard(move |spread_constraint| spread_constraint.min_domains = Some(domains)),
            );
            second_claim(facts, plan, "us-west-2b");
            facts.pods[4] = pod("bound").on("general-6-0").build();
        }
    };
    check(min(2), &[]);
    check(min(3), &["us-west-2a has 2, the least 0"]);
}

#[test]
fn pods_on_nodes_that_do_not_count_are_not_counted() {
    let with_bound = |facts: &mut Facts, plan: &mut Plan| {
        second_claim(facts, plan, "us-west-2b");
        facts.pods[4] = pod("bound").label("app=web").on("byo").build();
        facts.pods[2] = pod("on-node").requests("cpu=500m").build();
        let mut byo = node("byo");
        byo.labels.insert(ZONE.to_owned(), "us-west-2a".to_owned());
        byo.taints = vec![taint("dedicated=x:NoSchedule")];
        facts.nodes.insert(byo.name.clone(), byo);
    };
    let counted = ["us-west-2a has 2, the least 0"];
    let to_two = |facts: &mut Facts, plan: &mut Plan| {
        with_bound(facts, plan);
        // One pod in zone a beside the bound one, none in zone b.
        facts.pods[1] = pod("web-1").requests("cpu=500m").build();
    };
    check(
        |facts, plan| {
            web(facts, hard(|_| ()));
            to_two(facts, plan);
        },
        &counted,
    );
    check(
        |facts, plan| {
            web(
                facts,
                hard(|spread_constraint| {
                    spread_constraint.node_taints_policy = NodeInclusionPolicy::Honor;
                }),
            );
            to_two(facts, plan);
        },
        &[],
    );
    check(
        |facts, plan| {
            let honors = hard(|spread_constraint| {
                spread_constraint.node_taints_policy = NodeInclusionPolicy::Honor;
            });
            web(facts, |pod| honors(pod).tolerates(tolerates_key("dedicated")));
            to_two(facts, plan);
        },
        &counted,
    );
    let chooses = |policy| {
        move |facts: &mut Facts, plan: &mut Plan| {
            let spreads =
                hard(move |spread_constraint| spread_constraint.node_affinity_policy = policy);
            web(facts, |pod| spreads(pod).selects("karpenter.sh/nodepool In general"));
            to_two(facts, plan);
        }
    };
    check(chooses(NodeInclusionPolicy::Honor), &[]);
    check(chooses(NodeInclusionPolicy::Ignore), &counted);
}

#[test]
fn a_pod_is_near_what_it_wants() {
    let near = |key: &'static str, pods: &'static str| {
        move |facts: &mut Facts, _: &mut Plan| {
            facts.pods[2] = pod("on-node").requests("cpu=500m").near(term(key, pods)).build();
        }
    };
    check(near(HOSTNAME, "app=db"), &["pod default/on-node breaks its affinity: nobody it wants"]);
    check(
        |facts, plan| {
            near(HOSTNAME, "app=db")(facts, plan);
            facts.pods[4] = pod("bound").label("app=db").on("general-6-0").build();
        },
        &[],
    );
    // In the zone, and on another node of it.
    check(
        |facts, plan| {
            near(ZONE, "app=web")(facts, plan);
            facts.pods[0] = pod("web-0").requests("cpu=1").label("app=web").build();
        },
        &[],
    );
    check(
        |facts, plan| {
            near(ZONE, "app=web")(facts, plan);
            facts.pods[0] = pod("web-0").requests("cpu=1").build();
            facts.pods[1] = pod("web-1").requests("cpu=500m").label("app=web").build();
            second_claim(facts, plan, "us-west-2b");
        },
        &["nobody it wants is in topology.kubernetes.io/zone=us-west-2a"],
    );
    check(near("rack", "app=db"), &["its place has no certain rack"]);
}

#[test]
fn pods_that_want_each_other_begin_in_one_place() {
    let near = |key: &'static str| move |pod: PodBuilder| pod.near(term(key, "app=web"));
    check(|facts, _| web(facts, near(ZONE)), &[]);
    let begin_twice = |facts: &mut Facts, plan: &mut Plan| {
        web(facts, near(ZONE));
        second_claim(facts, plan, "us-west-2b");
    };
    check(begin_twice, &["two groups begin, in topology.kubernetes.io/zone=us-west-2a"]);
    // Where somebody is already, nobody begins.
    check(
        |facts, plan| {
            begin_twice(facts, plan);
            facts.pods[4] = pod("bound").label("app=web").on("general-6-0").build();
        },
        &["it is the first in topology.kubernetes.io/zone=us-west-2b, others in us-west-2a"],
    );
    // One that may not go there may.
    check(
        |facts, plan| {
            begin_twice(facts, plan);
            let text = format!("{ZONE} In us-west-2b");
            let stubborn = pod("web-1").requests("cpu=500m").label("app=web").selects(&text);
            facts.pods[1] = near(ZONE)(stubborn).build();
        },
        &[],
    );
}

#[test]
fn pods_that_repel_each_other_are_apart() {
    let away = |key: &'static str| move |pod: PodBuilder| pod.away_from(term(key, "app=web"));
    check(
        |facts, _| web(facts, away(HOSTNAME)),
        &["pod default/web-0 may not be with default/web-1"],
    );
    let spread_out = |facts: &mut Facts, plan: &mut Plan| second_claim(facts, plan, "us-west-2b");
    check(
        |facts, plan| {
            web(facts, away(HOSTNAME));
            spread_out(facts, plan);
        },
        &[],
    );
    check(
        |facts, plan| {
            web(facts, away(ZONE));
            spread_out(facts, plan);
        },
        &["both may be in topology.kubernetes.io/zone=us-west-2a"],
    );
}

#[test]
fn what_is_repelled_stays_away_too() {
    let guarded = |facts: &mut Facts, key: &str| {
        let guard = pod("bound").away_from(term(key, "app=web"));
        facts.pods[4] = guard.on("general-6-0").build();
        facts.pods[2] = pod("on-node").requests("cpu=500m").label("app=web").build();
    };
    let expected = ["pod default/bound may not be with default/on-node"];
    check(|facts, _| guarded(facts, HOSTNAME), &expected);
    check(
        |facts, plan| {
            guarded(facts, ZONE);
            plan.placements[0].target = Target::Claim(id("general-6-1"));
            plan.placements[0].pods = vec![pod_key("on-node")];
            plan.placements.truncate(1);
            plan.promises.truncate(0);
            let mut claim = facts.ledger.claims["general-6-1"].clone();
            claim.requirements = requirements(&format!("{ZONE} In us-west-2a us-west-2b"));
            facts.ledger.claims.insert(claim.name.clone(), claim);
        },
        &expected,
    );
}

#[test]
fn who_stood_together_before_is_nobodys_fault() {
    check(
        |facts, _| {
            facts.pods[4] = pod("bound")
                .label("app=old")
                .away_from(term(HOSTNAME, "app=old"))
                .on("general-6-0")
                .build();
            let other = pod("bound-2").requests("").label("app=old").on("general-6-0");
            facts.pods.push(other.build());
        },
        &[],
    );
}

#[test]
fn a_term_is_about_its_namespaces() {
    let check_term = |names: &[&str], labels: Option<&str>, expected: &[&str]| {
        let mut about = term(HOSTNAME, "app=web");
        about.namespaces = names.iter().map(|name| id(name)).collect::<BTreeSet<_>>();
        about.namespace_selector = labels.map(|text| match text.split_once('=') {
            Some(pair) => model::selector::LabelSelector::of_labels([pair]),
            None => model::selector::LabelSelector::default(),
        });
        check(
            |facts, plan| {
                facts.pods[2] = pod("other/on-node").label("app=web").requests("cpu=1m").build();
                let guard = pod("bound").away_from(about.clone()).on("general-6-0");
                facts.pods[4] = guard.build();
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
