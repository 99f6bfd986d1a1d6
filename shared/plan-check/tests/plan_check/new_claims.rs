//! New claims.

use model::{ClaimPhase, NodeClaim, facts::ClassOffer, plan::NewClaim};
use testkit::build::{
    daemon_set, id, new_claim, pod, pod_key, requirement, requirements, resources, taint,
};

use super::{check, good_claim, name_types};

fn first(plan: &mut model::Plan) -> &mut NodeClaim {
    &mut plan.new_claims[0].claim
}

/// Gives both pods of the new claim these words, and nothing else.
fn with_pods(facts: &mut model::facts::Facts, words: &str) {
    for (index, name) in ["web-0", "web-1"].into_iter().enumerate() {
        facts.pods[index] = pod(&format!("{name} cpu=500m memory=1Gi {words}"));
    }
}

#[test]
fn a_claim_has_a_name_of_its_own() {
    check(
        |_, plan| first(plan).name = id("general-6-1"),
        &["claim general-6-1 is created although it exists"],
    );
    check(
        |facts, plan| {
            facts.pods.push(pod("web-2"));
            let twin = NodeClaim { batch: id("another"), ..good_claim("general-7-0") };
            plan.new_claims.push(new_claim(twin, &["web-2"]));
        },
        &["claim general-7-0 is created twice"],
    );
}

#[test]
fn a_claim_is_new_and_for_a_pod() {
    check(|_, plan| first(plan).version = 2, &["general-7-0 is not a new one: its version is 2"]);
    check(|_, plan| first(plan).phase = ClaimPhase::Launched, &["its phase is launched"]);
    check(|_, plan| first(plan).node = Some(id("n")), &["it has an instance or a node"]);
    check(
        |facts, plan| first(plan).empty_since = Some(facts.now),
        &["it is deleted or empty already"],
    );
    check(
        |_, plan| plan.new_claims[0].claim.pods.clear(),
        &["claim general-7-0 is created for no pod"],
    );
}

/// Names that a shell, YAML or TOML would read as more than a name.
const HOSTILE: [&str; 10] = [
    "x'; reboot; '",
    "x\" --anonymous-auth=true",
    "a b",
    "a,b=c",
    "$(reboot)",
    "`reboot`",
    "a\nb",
    "</powershell>",
    "gr\u{fc}n",
    "-x",
];

/// The claim has this label beside its own.
#[track_caller]
fn check_label(key: &str, value: &str, wanted: &[&str]) {
    let labels = [(key.to_owned(), value.to_owned())];
    check(|_, plan| first(plan).labels.extend(labels), wanted);
}

#[test]
fn a_node_gets_only_names() {
    let none =
        |what: &str, shown: &str| format!("general-7-0 has the {what} {shown:?}, which is none");
    for text in HOSTILE {
        check_label("team", text, &[&none("label", &format!("team={text}"))]);
        check_label(text, "x", &[&none("label", &format!("{text}=x"))]);
        let wanted = model::Requirement::of_label("team", text).unwrap();
        let shown = none("requirement", &wanted.to_string());
        check(|_, plan| first(plan).requirements.add(wanted), &[&shown]);
        let taint = model::Taint { value: text.to_owned(), ..taint("team:NoSchedule") };
        check(
            |facts, plan| {
                first(plan).startup_taints.push(taint.clone());
                facts.node_pools[0].template.startup_taints.push(taint);
            },
            &[&none("taint", &format!("team={text}"))],
        );
    }
    check_label("a", &"x".repeat(64), &["which is none"]);
    check_label(&"x".repeat(64), "a", &["which is none"]);
    for (key, value) in [("a", ""), ("example.com/a_b.c", "A-1_b.2"), ("x", "0")] {
        check_label(key, value, &[]);
    }
}

#[test]
fn a_pool_that_may_not_launch_gets_no_claim() {
    check(
        |facts, _| facts.node_pools.clear(),
        &["claim general-7-0: NodePool general does not exist"],
    );
    check(
        |facts, _| facts.node_pools[0].is_deleting = true,
        &["NodePool general is being deleted"],
    );
    check(|facts, _| facts.node_pools[0].replicas = Some(1), &["NodePool general is static"]);
    check(
        |facts, _| facts.node_pools[0].problems.push(model::Problem::unusable("", "bad taint")),
        &["NodePool general is not ready: bad taint"],
    );
}

#[test]
fn a_class_that_is_not_ready_launches_nothing() {
    let no_types = ["may not be launched as m7g.large", "may not be launched as m7g.xlarge"];
    let no_offering = "is not its cheapest offering: it is none that can be bought";
    check(
        |facts, _| facts.classes = None,
        &["EC2NodeClass default was not looked at", no_types[0], no_types[1], no_offering],
    );
    check(
        |facts, _| facts.classes = Some([].into()),
        &["EC2NodeClass default does not exist", no_types[0], no_types[1], no_offering],
    );
    check(
        |facts, _| {
            let obstacles = vec![model::node_class::Obstacle::NoInstanceType];
            facts.classes.as_mut().unwrap().insert(id("default"), ClassOffer::NotReady(obstacles));
        },
        &[
            "default is not ready: no instance type that its images start on is sold",
            no_types[0],
            no_types[1],
            no_offering,
        ],
    );
}

#[test]
fn a_claim_is_what_its_pool_asks_for() {
    check(
        |facts, _| facts.node_pools[0].template.taints.push(taint("a:PreferNoSchedule")),
        &["claim general-7-0 is not what NodePool general asks for: its taints are others"],
    );
    check(
        |facts, _| facts.node_pools[0].template.startup_taints.push(taint("a:NoSchedule")),
        &["its startup taints are others"],
    );
    check(|_, plan| first(plan).expire_after = None, &["its expireAfter is another"]);
    check(
        |_, plan| first(plan).termination_grace_period = Some(jiff::SignedDuration::from_secs(1)),
        &["its terminationGracePeriod is another"],
    );
    check(
        |facts, _| {
            facts.node_pools[0].template.labels.insert("team".to_owned(), "red".to_owned());
        },
        &["it lacks the label team=red"],
    );
    check(
        |facts, _| {
            let zones = requirements("zone=us-west-2b,us-west-2c");
            facts.node_pools[0].template.requirements = zones;
        },
        &["it may have other labels than topology.kubernetes.io/zone In [us-west-2b us-west-2c]"],
    );
    check(
        |facts, _| facts.node_pools[0].template.requirements = requirements("team=red,blue"),
        &["it may have other labels than team In [blue red]"],
    );
    // One of the pool's values is fine.
    check(
        |facts, plan| {
            facts.node_pools[0].template.requirements = requirements("team=red,blue");
            first(plan).labels.insert("team".to_owned(), "red".to_owned());
        },
        &[],
    );
}

#[test]
fn a_claim_states_what_is_so() {
    check(
        |_, plan| first(plan).requests = resources("cpu=1 memory=2Gi pods=2"),
        &["claim general-7-0 states requests wrongly: cpu 1, memory 2Gi, pods 2 for pods that"],
    );
    check(
        |_, plan| first(plan).allocatable = resources("cpu=3 memory=7Gi pods=29"),
        &["states allocatable wrongly: cpu 3, memory 7Gi, pods 29 where m7g.large has cpu 1930m"],
    );
}

#[test]
fn pods_and_daemons_fit_every_type_of_their_claim() {
    check(
        |facts, _| facts.pods[1] = pod("web-1 cpu=931m"),
        &["states requests", "claim general-7-0 as m7g.large has no room: cpu 1931m, memory 1Gi"],
    );
    check(
        |facts, plan| {
            facts.pods[1] = pod("web-1 cpu=930m memory=1Gi");
            first(plan).requests = resources("cpu=2 memory=2Gi pods=2");
        },
        &[],
    );
    let daemon = |facts: &mut model::facts::Facts, selector: &str| {
        facts.daemon_sets =
            vec![daemon_set(&format!("agent cpu=431m memory=1Gi tolerate:* select:{selector}"))];
        // There is no room for the daemon on the two places that are there.
        facts.pods.truncate(2);
    };
    let only_new_claims = |plan: &mut model::Plan| {
        plan.placements.clear();
        plan.unplaced.clear();
    };
    for (selector, counts) in [
        ("", true),
        ("arch=arm64", true),
        ("karpenter.sh/initialized=true", true),
        ("arch=amd64", false),
        ("team=red", false),
    ] {
        check(
            |facts, plan| {
                daemon(facts, selector);
                only_new_claims(plan);
            },
            if counts { &["claim general-7-0 as m7g.large has no room: cpu 1931m"] } else { &[] },
        );
    }
}

#[test]
fn pods_tolerate_the_taints_of_their_claim() {
    let tainted = |facts: &mut model::facts::Facts, plan: &mut model::Plan, text: &str| {
        facts.node_pools[0].template.taints = vec![taint(text)];
        first(plan).taints = vec![taint(text)];
    };
    check(
        |facts, plan| {
            tainted(facts, plan, "dedicated=gpu:NoSchedule");
            with_pods(facts, "");
        },
        &["pod default/web-0 does not tolerate dedicated=gpu:NoSchedule of claim general-7-0"],
    );
    check(
        |facts, plan| {
            tainted(facts, plan, "dedicated=gpu:NoSchedule");
            with_pods(facts, "tolerate:dedicated");
        },
        &[],
    );
    check(|facts, plan| tainted(facts, plan, "soft:PreferNoSchedule"), &[]);
    check(
        |facts, plan| {
            let starting = vec![taint("starting:NoSchedule")];
            facts.node_pools[0].template.startup_taints.clone_from(&starting);
            first(plan).startup_taints = starting;
        },
        &[],
    );
}

#[test]
fn a_claim_suits_its_pods_whatever_is_launched_for_it() {
    let selecting = |selector: &'static str| {
        move |facts: &mut model::facts::Facts, _: &mut model::Plan| {
            with_pods(facts, &format!("select:{selector}"));
        }
    };
    for selector in [
        "arch=arm64,amd64",
        "zone=us-west-2a",
        "karpenter.k8s.aws/instance-cpu>1",
        "!karpenter.k8s.aws/instance-gpu-count",
        "team!=red",
        "!team",
        "pool=general",
    ] {
        check(selecting(selector), &[]);
    }
    for (selector, place) in [
        ("arch=amd64", "on-demand m7g.large us-west-2a"),
        ("karpenter.k8s.aws/instance-cpu=2", "on-demand m7g.xlarge us-west-2a"),
        ("zone=us-west-2b", "on-demand m7g.large us-west-2a"),
        ("karpenter.k8s.aws/instance-gpu-count", "on-demand m7g.large us-west-2a"),
        ("team=red", "on-demand m7g.large us-west-2a"),
        ("team", "on-demand m7g.large us-west-2a"),
        ("!pool", "on-demand m7g.large us-west-2a"),
    ] {
        let place = format!("does not go with the labels of claim general-7-0 as {place}");
        check(selecting(selector), &[&place]);
    }
    // The claim leaves two zones open; the pod wants one.
    check(
        |facts, plan| {
            first(plan).requirements = requirements("paid=on-demand");
            with_pods(facts, "select:zone=us-west-2a");
        },
        &["as on-demand m7g.large us-west-2b: topology.kubernetes.io/zone In [us-west-2a]"],
    );
    // One alternative is enough, another for each outcome.
    check(
        |facts, _| {
            let either =
                "require:karpenter.k8s.aws/instance-cpu=2 require:karpenter.k8s.aws/instance-cpu=4";
            with_pods(facts, either);
        },
        &[],
    );
}

#[test]
fn every_type_can_be_bought_for_its_claim() {
    check(
        |_, plan| name_types(first(plan), |names| names[1] = id("m9g.large")),
        &["may not be launched as m9g.large: its EC2NodeClass does not offer it"],
    );
    check(
        |_, plan| {
            first(plan).requirements.add(requirement("karpenter.k8s.aws/instance-cpu=2"));
        },
        &["as m7g.xlarge: key karpenter.k8s.aws/instance-cpu"],
    );
    check(
        |facts, _| {
            let Some(ClassOffer::Ready(types)) = facts.classes.as_mut().unwrap().get_mut("default")
            else {
                panic!()
            };
            std::sync::Arc::make_mut(&mut types[1]).offerings[0].is_available = false;
        },
        &["as m7g.xlarge: no offering that its requirements allow is available"],
    );
    check(
        |_, plan| name_types(first(plan), |names| names.push(id("m7g.large"))),
        &["a wrong list of instance types: a type is in it twice", "m7g.large is cheaper than"],
    );
    check(
        |_, plan| name_types(first(plan), |names| names.swap(0, 1)),
        &["m7g.large is cheaper than the type before it"],
    );
    check(
        |_, plan| name_types(first(plan), Vec::clear),
        &["a wrong list of instance types: it is empty", "it is none that can be bought"],
    );
}

#[test]
fn the_cheapest_offering_is_the_cheapest() {
    let cheapest = |change: fn(&mut NewClaim)| {
        move |_: &mut model::facts::Facts, plan: &mut model::Plan| change(&mut plan.new_claims[0])
    };
    check(
        cheapest(|new| {
            new.cheapest.instance_type = id("m7g.xlarge");
            new.price = testkit::build::price("0.1632");
        }),
        &["on-demand m7g.xlarge us-west-2a at 0.1632 is not its cheapest offering: one is to be \
           had at 0.0816"],
    );
    check(
        cheapest(|new| new.cheapest.zone = id("us-west-2b")),
        &["it is none that can be bought for the claim"],
    );
    check(
        cheapest(|new| new.cheapest.capacity_type = model::CapacityType::Spot),
        &["it is none that can be bought for the claim"],
    );
}

#[test]
fn min_values_are_reached() {
    let of_claim = |count: u32| {
        move |_: &mut model::facts::Facts, plan: &mut model::Plan| {
            let key = "karpenter.k8s.aws/instance-size";
            first(plan).requirements.add(requirement(&format!("{key}@{count}")));
        }
    };
    check(of_claim(2), &[]);
    let missed = "claim general-7-0 needs 3 values of karpenter.k8s.aws/instance-size, its \
                  instance types have 2";
    check(of_claim(3), &[missed]);
    // What the pool asks for holds too, unless the policy relaxes it and the claim says so.
    let of_pool = |facts: &mut model::facts::Facts, plan: &mut model::Plan| {
        of_claim(2)(facts, plan);
        facts.node_pools[0].template.requirements =
            requirements("karpenter.k8s.aws/instance-size@3");
    };
    check(of_pool, &[missed]);
    check(
        |facts, plan| {
            of_pool(facts, plan);
            let relaxed = (model::labels::MIN_VALUES_RELAXED.to_owned(), "true".to_owned());
            first(plan).annotations.extend([relaxed]);
            facts.policies.min_values = model::policies::MinValuesPolicy::BestEffort;
        },
        &[],
    );
}

/// Two claims in one batch, for one pod each.
fn batch(change: impl Fn(&mut NodeClaim)) -> impl Fn(&mut model::facts::Facts, &mut model::Plan) {
    move |_, plan| {
        let new_claim_of = |index: u32, name: &str| {
            let claim = good_claim(&format!("general-7-{index}"));
            let batch = id("general-7");
            let claim = NodeClaim { batch, batch_size: 2, batch_index: index, ..claim };
            new_claim(claim, &[name])
        };
        plan.new_claims = vec![new_claim_of(0, "web-0"), new_claim_of(1, "web-1")];
        change(&mut plan.new_claims[1].claim);
    }
}

#[test]
fn the_claims_of_a_batch_are_interchangeable() {
    check(batch(|_| {}), &[]);
    check(
        batch(|claim| claim.batch_size = 3),
        &["batch general-7: general-7-1 states 3 claims, it has 2"],
    );
    check(batch(|claim| claim.batch_index = 2), &["its places are not 0, 1, 2"]);
    check(batch(|claim| claim.batch_index = 0), &["its places are not 0, 1, 2"]);
    check(
        batch(|claim| name_types(claim, |names| names.truncate(1))),
        &["batch general-7: general-7-1 is unlike general-7-0"],
    );
    check(
        batch(|claim| {
            claim.annotations.insert("a".to_owned(), "b".to_owned());
        }),
        &["batch general-7: general-7-1 is unlike general-7-0"],
    );
    check(
        |_, plan| first(plan).batch = id("batch-of-general-6-1"),
        &["batch batch-of-general-6-1: claims that exist were launched in it"],
    );
}

#[test]
fn a_batch_and_a_cluster_have_an_end() {
    check(
        |facts, plan| {
            let new_claim_of = |index: u32| {
                let name = format!("many-{index}");
                let claim = good_claim(&format!("general-7-{index}"));
                let batch = id("general-7");
                let claim = NodeClaim { batch, batch_size: 1_001, batch_index: index, ..claim };
                new_claim(claim, &[&name])
            };
            facts.pods.extend((0..1_001).map(|index| pod(&format!("many-{index}"))));
            plan.new_claims = (0..1_001).map(new_claim_of).collect();
        },
        &["batch general-7: it has 1001 claims, at most 100 fit"],
    );
    check(
        |facts, plan| {
            let names: Vec<_> = (0..6_001).map(|number| format!("more-{number}")).collect();
            facts.pods.extend(names.iter().map(|name| pod(name)));
            batch(|claim| claim.pods = names.iter().map(|name| pod_key(name)).collect())(
                facts, plan,
            );
        },
        &[
            "batch general-7: it is for 6002 pods, at most 6000 fit a commit",
            "claim general-7-1 states requests wrongly",
            "claim general-7-1 as m7g.large has no room: pods 6001 is needed",
        ],
    );
    check(
        |facts, _| {
            for index in 0..model::limits::NODES_PER_CLUSTER_MAX - 2 {
                let claim = testkit::build::claim(&format!("old-{index}"));
                facts.ledger.claims.insert(claim.name.clone(), claim);
            }
        },
        &["with this plan there are 10001 claims, and a cluster has at most 10000"],
    );
}
