//! What holds of every plan, whatever the world is like: judged by `plan-check`, which shares no
//! code with the planner.

mod devices;
mod packing;
mod worlds;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    InstanceTypeName, NodePoolName, Plan, Pod, PodKey, PodUid,
    buffer::BufferTarget,
    facts::Facts,
    labels::{CAPACITY_TYPE, HOSTNAME, ZONE},
    node_pool::NodePool,
    plan::{NewClaim, Target},
};
use plan_check::violations;
use planner::{PreparedFacts, provision};
use proptest::prelude::*;
use worlds::{Sketch, world, worlds};

/// The places of each workload's pods, without saying which of its pods is where.
type Shown = BTreeMap<String, BTreeMap<String, usize>>;

fn places(plan: &Plan) -> Vec<(String, &PodKey)> {
    let created = plan.new_claims.iter().enumerate().flat_map(|(index, new)| {
        let place = format!("new {index} {:?}", new.claim.instance_types);
        new.claim.pods.iter().map(move |pod| (place.clone(), pod))
    });
    let placed = plan.placements.iter().flat_map(|placement| {
        placement.pods.iter().map(|pod| (format!("{:?}", placement.target), pod))
    });
    let unplaced = plan.unplaced.iter().map(|pod| (format!("{:?}", pod.reasons), &pod.pod));
    created.chain(placed).chain(unplaced).collect()
}

fn by_workload(plan: &Plan) -> Shown {
    let mut texts = Shown::new();
    for (place, pod) in places(plan) {
        let workload = pod.name.as_str().rsplit_once('-').unwrap().0.to_owned();
        *texts.entry(place).or_default().entry(workload).or_default() += 1;
    }
    texts
}

fn unplaced(plan: &Plan) -> BTreeSet<PodKey> {
    plan.unplaced.iter().map(|unplaced| unplaced.pod.clone()).collect()
}

/// The plan breaks no rule and names every pod that needs a place once.
#[track_caller]
fn check(facts: &Facts, plan: &Plan) {
    let texts: Vec<String> = violations(facts, plan).iter().map(ToString::to_string).collect();
    assert!(texts.is_empty(), "{}\n{}", texts.join("\n"), worlds::shown(facts, plan));
    let mut named: Vec<&PodKey> = places(plan).into_iter().map(|(_, pod)| pod).collect();
    named.sort();
    let virtual_pods = planner::virtual_pods(facts);
    let pending = facts.pods.iter().filter(|pod| pod.is_provisionable()).chain(&virtual_pods);
    let mut needed: Vec<&PodKey> = pending.map(|pod| &pod.key).collect();
    needed.sort();
    assert_eq!(named, needed);
}

fn commit(facts: &Facts, plan: &Plan) -> Facts {
    let mut after = facts.clone();
    after.ledger.head.counters.arrivals += 1;
    for new in &plan.new_claims {
        after.ledger.claims.insert(new.claim.name.clone(), new.claim.clone());
    }
    after
}

/// Planning again, when the world is as the `plan` for `facts` leaves it, creates nothing for what has
/// a place: only what found none may find one now, when it is certain where others are, or when a
/// claim turned out smaller than its limit had to expect. (It may take room that was kept for others.)
/// Pods of buffers run nowhere: where a limit had to expect more, they may now go to that pool, which
/// they would have liked better.
#[track_caller]
fn check_again(facts: &Facts, plan: &Plan, after: &Facts) {
    let again = provision(after);
    let unplaced: BTreeSet<&PodKey> = plan.unplaced.iter().map(|pod| &pod.pod).collect();
    let is_virtual = |key: &PodKey| !facts.pods.iter().any(|pod| pod.key == *key);
    for new in &again.new_claims {
        let has_more_room = expected_more(facts, plan, &new.claim.node_pool);
        for pod in &new.claim.pods {
            assert!(
                unplaced.contains(pod)
                    || is_virtual(pod) && (has_more_room || !unplaced.is_empty()),
                "{pod}\nfirst {}\nthen {}",
                worlds::shown(facts, plan),
                worlds::shown(after, &again)
            );
        }
    }
}

/// Whether the limits of the pool were reckoned with types that none of its claims became: with the
/// largest that each could.
fn expected_more(facts: &Facts, plan: &Plan, pool: &NodePoolName) -> bool {
    let is_limited = |known: &NodePool| known.name == *pool && !known.limits.0.is_empty();
    let has_choice =
        |new: &NewClaim| new.claim.node_pool == *pool && 1 < new.claim.instance_types.len();
    facts.node_pools.iter().any(is_limited) && plan.new_claims.iter().any(has_choice)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_plan_satisfies_every_hard_constraint(sketch in worlds()) {
        let facts = world(&sketch);
        check(&facts, &provision(&facts));
    }

    #[test]
    fn a_budget_that_ends_early_leaves_a_valid_plan_and_says_what_is_left(
        sketch in worlds(), tries in 0_usize..12,
    ) {
        let facts = world(&sketch);
        let plan = PreparedFacts::of(&facts).plan_within(tries);
        check(&facts, &plan);
        let whole = provision(&facts);
        let placed = |plan: &Plan| places(plan).len() - plan.unplaced.len();
        prop_assert!(placed(&plan) <= tries.min(placed(&whole)));
        let left = plan.unplaced.iter().filter(|unplaced| {
            unplaced.reasons.iter().any(|reason| reason.text.contains("left for the next plan"))
        });
        // What the whole plan places was tried, or is said to be left.
        prop_assert!(placed(&whole) <= tries + left.count());
    }

    #[test]
    fn which_of_equal_pods_is_which_changes_nothing(sketch in worlds()) {
        let facts = world(&sketch);
        let mut other = facts.clone();
        // The uid decides among pods that are otherwise equal.
        let workload = |pod: &Pod| pod.key.name.as_str().rsplit_once('-').unwrap().0.to_owned();
        let mut uids: BTreeMap<String, Vec<PodUid>> = BTreeMap::new();
        for pod in &facts.pods {
            uids.entry(workload(pod)).or_default().push(pod.uid.clone());
        }
        for pod in &mut other.pods {
            pod.uid = uids.get_mut(&workload(pod)).unwrap().pop().unwrap();
        }
        other.pods.reverse();
        prop_assert_eq!(by_workload(&provision(&facts)), by_workload(&provision(&other)));
    }

    #[test]
    fn a_pool_of_less_weight_never_makes_a_pod_unschedulable(sketch in worlds()) {
        let sketch = Sketch { is_about_others: false, has_reserved: false, ..sketch };
        let facts = world(&sketch);
        let mut more = facts.clone();
        more.node_pools.push(worlds::weightless());
        let (before, after) = (unplaced(&provision(&facts)), unplaced(&provision(&more)));
        let lost: Vec<&PodKey> = after.difference(&before).collect();
        prop_assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn planning_beside_unlaunched_claims_breaks_nothing(sketch in worlds()) {
        let facts = world(&sketch);
        let after = commit(&facts, &provision(&facts));
        check(&after, &provision(&after));
    }

    /// But for rules and preferences about other pods: a pod counts in a zone only once it is certain that
    /// it is there, which a plan may make certain after it placed the pod.
    #[test]
    fn what_was_created_is_not_created_again(sketch in worlds()) {
        let facts = world(&Sketch { is_about_others: false, ..sketch });
        let plan = provision(&facts);
        check_again(&facts, &plan, &commit(&facts, &plan));
    }

    /// With those rules and preferences, of one workload, where no reservation tells the zone of a claim
    /// later.
    #[test]
    fn one_workload_gets_no_second_claims(sketch in worlds()) {
        let workloads = sketch.workloads.iter().take(1).cloned().collect();
        let facts = world(&Sketch { workloads, has_reserved: false, ..sketch });
        let plan = provision(&facts);
        check_again(&facts, &plan, &commit(&facts, &plan));
    }

    #[test]
    fn a_plan_that_was_carried_out_leaves_nothing_to_plan(sketch in worlds()) {
        worlds::leaves_nothing_to_plan(&world(&sketch.quiet()))?;
    }

    #[test]
    fn what_was_carried_out_is_not_planned_again(sketch in worlds()) {
        let facts = world(&sketch);
        let plan = provision(&facts);
        check_again(&facts, &plan, &worlds::carried_out(&facts, &plan));
    }

    /// A preference keeps the pod away that has it, and no other.
    #[test]
    fn a_preference_to_keep_away_takes_a_place_from_no_pod(
        sketch in worlds(), whom in 0_usize..3, label in 0_usize..3,
    ) {
        let facts = world(&sketch.quiet());
        let mut shy = facts.clone();
        let label = [ZONE, HOSTNAME, "example.com/rack"][label];
        for pod in shy.pods.iter_mut().step_by(2) {
            let spec = Arc::make_mut(&mut pod.spec);
            spec.pod_anti_affinity.preferred.push(worlds::keep_away(label, whom));
        }
        prop_assert_eq!(unplaced(&provision(&facts)), unplaced(&provision(&shy)));
    }

    #[test]
    fn the_order_in_which_pods_are_listed_changes_nothing(sketch in worlds(), by in 1_usize..9) {
        let facts = world(&sketch);
        let mut other = facts.clone();
        other.pods.reverse();
        let half = other.pods.len() / by;
        other.pods.rotate_left(half);
        prop_assert_eq!(provision(&facts), provision(&other));
    }

    /// Also what a reservation is too full for stays possible.
    #[test]
    fn the_types_of_a_claim_do_not_depend_on_how_it_is_bought(sketch in worlds()) {
        let workloads = sketch.workloads.iter().take(1).cloned().collect();
        let alone = Sketch {
            workloads, is_about_others: false, has_reserved: true, has_nodes: false,
            has_buffer: false, has_overlay: false, limit: None, ..sketch
        };
        let mut facts = world(&alone);
        facts.pods.truncate(1);
        let types = |facts: &Facts| -> BTreeSet<InstanceTypeName> {
            let plan = provision(facts);
            plan.new_claims.iter().flat_map(|new| new.claim.instance_types.to_vec()).collect()
        };
        let free = types(&facts);
        worlds::fill_reservations(&mut facts);
        prop_assert_eq!(free, types(&facts));
    }

    #[test]
    fn of_equal_domains_none_is_cheaper_than_the_one_that_is_taken(
        sketch in worlds(), is_zone in any::<bool>(),
    ) {
        let key = if is_zone { ZONE } else { CAPACITY_TYPE };
        let workloads = sketch.workloads.iter().take(1).cloned().collect();
        let alone = Sketch {
            workloads, is_about_others: false, has_reserved: false, has_nodes: false,
            has_buffer: false, ..sketch
        };
        let mut facts = world(&alone);
        // Another pool may sell in other zones, or be cheaper.
        facts.node_pools.truncate(1);
        let Some(pod) = facts.pods.first().cloned() else { return Ok(()) };
        let price = |pod: Pod| {
            let facts = Facts { pods: vec![pod], ..facts.clone() };
            provision(&facts).new_claims.first().map(|new| new.price)
        };
        let spread = price(worlds::spread_over(key, pod.clone()));
        let values = ["us-west-2a", "us-west-2b", "us-west-2c", "spot", "on-demand"];
        let pinned = values.iter().filter_map(|value| price(worlds::pinned(key, value, pod.clone())));
        prop_assert_eq!(spread, pinned.min());
    }

    /// What is being deleted still keeps away whom it must not be with, until it is gone.
    #[test]
    fn what_is_ending_still_keeps_others_away(sketch in worlds()) {
        let mut facts = world(&Sketch { has_nodes: true, is_about_others: true, ..sketch });
        worlds::end_the_guard(&mut facts);
        let plan = provision(&facts);
        let is_meant = |key: &PodKey| {
            let pod = facts.pods.iter().find(|pod| pod.key == *key);
            pod.is_some_and(|pod| pod.spec.labels.get("app").is_some_and(|app| app == "b"))
        };
        let beside = plan.placements.iter().filter(|placement| {
            placement.target == Target::Node("byo".parse().unwrap())
        });
        let met: Vec<&PodKey> =
            beside.flat_map(|placement| &placement.pods).filter(|key| is_meant(key)).collect();
        prop_assert!(met.is_empty(), "{met:?}\n{}", worlds::shown(&facts, &plan));
    }

    /// Pods come before pods of a buffer that ask for the same.
    #[test]
    fn a_buffer_takes_a_place_from_no_pod_like_its_own(sketch in worlds()) {
        let workloads = sketch.workloads.iter().take(1).cloned().collect();
        let alone = Sketch { workloads, has_buffer: false, ..sketch };
        let facts = world(&alone);
        let Some(pod) = facts.pods.first() else { return Ok(()) };
        let mut more = facts.clone();
        more.policies.capacity_buffer = true;
        more.surroundings.capacity_buffers[0].target =
            BufferTarget::Template(Arc::clone(&pod.spec));
        let real = |plan: &Plan| -> BTreeSet<PodKey> {
            let is_real = |key: &PodKey| facts.pods.iter().any(|pod| pod.key == *key);
            unplaced(plan).into_iter().filter(is_real).collect()
        };
        let (without, with) = (real(&provision(&facts)), real(&provision(&more)));
        prop_assert!(with.is_subset(&without), "{with:?} and not {without:?}");
    }
}
