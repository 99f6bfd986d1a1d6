//! A plan that is good, and for each rule one that is wrong in just that.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod plan_check {
    mod changes;
    mod devices;
    mod dollars;
    mod limits;
    mod new_claims;
    mod nodes;
    mod places;
    mod repair;
    mod rollouts;
    mod shares;
    mod static_pools;
    mod topology;

    use ::plan_check::{ensure_valid, sound, violations};
    use model::{
        InstanceTypeName, NodeClaim, Plan,
        facts::Facts,
        ledger::Counters,
        plan::{Placement, Target},
    };
    use testkit::build::{
        claim, facts, id, instance_type, new_claim, node_of, pod, pod_key, price, requirements,
        resources,
    };

    /// Two types of which the smaller is cheaper, a node with one bound pod, a claim on its way, and a
    /// plan that uses all of it: one pod each for the node and the claim, two for a new claim.
    fn good() -> (Facts, Plan) {
        let mut facts = facts(vec![
            instance_type(
                "m7g.large cpu=2 memory=8Gi pods=29 overhead:cpu=70m overhead:memory=1Gi on-demand:us-west-2a=0.0816 on-demand:us-west-2b=0.09 spot:us-west-2a=0.03",
            ),
            instance_type(
                "m7g.xlarge cpu=4 memory=16Gi pods=58 overhead:cpu=80m overhead:memory=1Gi on-demand:us-west-2a=0.1632",
            ),
        ]);
        facts.pods = vec![
            pod("web-0 cpu=1 memory=1Gi"),
            pod("web-1 cpu=500m memory=1Gi"),
            pod("on-node cpu=500m memory=1Gi"),
            pod("on-claim cpu=500m memory=1Gi"),
            pod("bound cpu=1 memory=1Gi on:general-6-0"),
            pod("impossible cpu=1k"),
        ];
        let (joined, node) = node_of(&claim("general-6-0"), "i-0600");
        facts.nodes.insert(node.name.clone(), node);
        for claim in [joined, claim("general-6-1")] {
            facts.ledger.claims.insert(claim.name.clone(), claim);
        }
        let on = |target, name| Placement { target, pods: vec![pod_key(name)] };
        let plan = Plan {
            parent: Counters { arrivals: 7, departures: 0 },
            new_claims: vec![new_claim(good_claim("general-7-0"), &["web-0", "web-1"])],
            placements: vec![
                on(Target::Node(id("general-6-0")), "on-node"),
                on(Target::Claim(id("general-6-1")), "on-claim"),
            ],
            unplaced: vec![model::plan::Unplaced {
                pod: pod_key("impossible"),
                reasons: Vec::new(),
            }],
            ..Plan::default()
        };
        (facts, plan)
    }

    /// A claim for both types of [`good`], on demand in us-west-2a.
    fn good_claim(name: &str) -> NodeClaim {
        NodeClaim {
            requirements: requirements("paid=on-demand zone=us-west-2a"),
            instance_types: [id("m7g.large"), id("m7g.xlarge")].into(),
            requests: resources("cpu=1500m memory=2Gi pods=2"),
            ..claim(name)
        }
    }

    /// Changes the list of types that a claim names.
    fn name_types(claim: &mut NodeClaim, change: impl FnOnce(&mut Vec<InstanceTypeName>)) {
        let mut names = claim.instance_types.to_vec();
        change(&mut names);
        claim.instance_types = names.into();
    }

    /// [`good`] with a change has exactly these violations, each shown with these words.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Facts, &mut Plan), wanted: &[&str]) {
        let (mut facts, mut plan) = good();
        change(&mut facts, &mut plan);
        let texts: Vec<String> =
            violations(&facts, &plan).iter().map(ToString::to_string).collect();
        let fits = texts.len() == wanted.len()
            && texts.iter().zip(wanted).all(|(text, wanted)| text.contains(wanted));
        assert!(fits, "found {texts:#?}\nwanted {wanted:#?}");
        let Err(invalid) = ensure_valid(&facts, &plan) else { return assert!(wanted.is_empty()) };
        // What is left of it breaks no rule.
        let rest = sound(&facts, plan, invalid);
        assert!(rest.is_err() || rest.is_ok_and(|rest| ensure_valid(&facts, &rest).is_ok()));
    }

    #[test]
    fn a_good_plan_passes() {
        check(|_, _| {}, &[]);
        check(|_, plan| *plan = Plan { parent: plan.parent, ..Plan::default() }, &[]);
    }

    #[test]
    fn a_plan_on_other_counters_is_refused() {
        check(
            |_, plan| plan.parent.arrivals = 6,
            &["the plan is made on counters 6/0, the facts hold 7/0"],
        );
    }

    #[test]
    fn an_invalid_plan_lists_what_is_wrong_and_comes_to_an_end() {
        let (facts, mut plan) = good();
        let unknown = (0..30).map(|number| pod_key(&format!("unknown-{number}")));
        plan.new_claims[0].claim.pods.extend(unknown);
        let invalid = ensure_valid(&facts, &plan).unwrap_err();
        assert_eq!(invalid.violations.len(), 30);
        let text = invalid.to_string();
        assert!(
            text.starts_with("the plan breaks its own rules: pod default/unknown-0 is not known; ")
        );
        assert!(text.ends_with("; and 10 more"));
    }

    /// What is left of [`good`] with a change and a second batch for `web-1` alone.
    fn left(change: impl FnOnce(&mut Facts, &mut Plan)) -> (Vec<String>, Vec<String>) {
        let (mut facts, mut plan) = good();
        plan.new_claims = vec![
            new_claim(good_claim("general-7-0"), &["web-0"]),
            new_claim(good_claim("general-7-1"), &["web-1"]),
        ];
        change(&mut facts, &mut plan);
        let invalid = ensure_valid(&facts, &plan).unwrap_err();
        let rest = sound(&facts, plan, invalid).unwrap();
        let created = rest.new_claims.iter().map(|new| new.claim.name.to_string());
        let placed = rest.placements.iter().flat_map(|placement| &placement.pods);
        (created.collect(), placed.map(|pod| pod.name.to_string()).collect())
    }

    #[test]
    fn what_breaks_a_rule_is_left_out_and_the_rest_goes_on() {
        let (created, placed) = left(|facts, _| facts.pods[1] = pod("web-1 unsupported:windows"));
        assert_eq!(created, ["general-7-0"]);
        assert_eq!(placed, ["on-node", "on-claim"]);
        let (created, placed) = left(|facts, _| facts.pods[2] = pod("on-node cpu=8"));
        assert_eq!(created, ["general-7-0", "general-7-1"]);
        assert_eq!(placed, ["on-claim"]);
        let (created, _) = left(|_, plan| plan.new_claims[0].price = price("0.01"));
        assert_eq!(created, ["general-7-1"]);
    }

    #[test]
    fn a_plan_on_other_counters_has_no_sound_part() {
        let (facts, mut plan) = good();
        plan.parent.arrivals = 6;
        let invalid = ensure_valid(&facts, &plan).unwrap_err();
        assert!(sound(&facts, plan, invalid).is_err());
    }

    #[test]
    fn a_pod_has_one_place_and_needs_it() {
        check(
            |_, plan| plan.placements[0].pods.push(pod_key("on-claim")),
            &["pod default/on-claim is in two places", "node general-6-0 has no room"],
        );
        check(
            |_, plan| plan.placements[0].pods[0] = pod_key("impossible"),
            &["pod default/impossible is in two places", "node general-6-0 has no room"],
        );
        check(
            |_, plan| plan.unplaced[0].pod = pod_key("missing"),
            &["pod default/missing is not known"],
        );
        check(
            |facts, _| facts.pods[2] = pod("on-node unsupported:windows"),
            &[
                "pod default/on-node is placed although it asks for what is not supported yet: windows",
            ],
        );
        check(
            |facts, _| facts.pods[2].unschedulable_at = None,
            &["pod default/on-node is placed although it does not need a node"],
        );
        // It runs, and its node stays.
        check(
            |_, plan| plan.placements[1].pods.push(pod_key("bound")),
            &["pod default/bound is placed although it does not need a node"],
        );
    }

    #[test]
    fn a_pod_of_a_node_that_ends_may_move() {
        let delete = |facts: &mut Facts, plan: &mut Plan| {
            let ending = facts.ledger.claims.get_mut("general-6-0").unwrap();
            *ending = ending.deleted(model::DeletionReason::Expired, facts.now);
            plan.placements[0].target = Target::Claim(id("general-6-1"));
            plan.placements[0].pods = vec![pod_key("bound")];
        };
        check(delete, &[]);
        check(
            |facts, plan| {
                delete(facts, plan);
                facts.pods[4] = pod("bound on:general-6-0 owner:DaemonSet");
            },
            &["pod default/bound is placed although it does not need a node"],
        );
    }

    #[test]
    fn prices_in_violations_are_in_dollars() {
        check(
            |_, plan| plan.new_claims[0].price = price("0.01"),
            &["claim general-7-0: on-demand m7g.large us-west-2a at 0.0100 is not its cheapest \
               offering: it costs 0.0816"],
        );
    }
}
