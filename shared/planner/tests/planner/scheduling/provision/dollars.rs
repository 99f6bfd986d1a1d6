//! Caps in dollars, of a NodePool and of the cluster. On demand a CPU costs 10 cents, on spot 3.

use model::{HourlyPrice, NodePoolName, labels::MAX_DOLLARS_PER_HOUR};
use proptest::prelude::*;

use super::*;

const SPOT: &str = "karpenter.sh/capacity-type=spot";

fn cap_pool(facts: &mut Facts, place: usize, most: &str) {
    let annotations = &mut facts.node_pools[place].annotations;
    annotations.insert(MAX_DOLLARS_PER_HOUR.to_owned(), most.to_owned());
}

fn capped(pods: Vec<model::Pod>, most: &str) -> Facts {
    let mut facts = facts(pods);
    cap_pool(&mut facts, 0, most);
    facts
}

fn cap_cluster(facts: &mut Facts, most: &str) {
    facts.policies.dollars_per_hour_max = Some(HourlyPrice::parse_dollars(most).unwrap());
}

fn amd64(requests: &str) -> PodSpec {
    spec(&format!("{requests} select:arch=amd64"))
}

#[test]
fn a_pod_that_waits_for_dollars_says_so() {
    let reason = |most: &str, left: &str| {
        format!(
            "a-0 not placed: general: every instance type that fits costs more than may be spent \
             (journeyman/max-dollars-per-hour: ${left} of ${most} an hour are left)"
        )
    };
    let pods = || replicas("a", 1, &amd64("cpu=3500m"));
    check(&capped(pods(), "0.3999"), &[&reason("0.3999", "0.3999")]);
    check(&capped(pods(), "0.4"), &["general [t.gpu t.medium]: a-0"]);
    check(&capped(pods(), "0"), &[&reason("0.0000", "0.0000")]);
    // An unreadable value allows nothing.
    check(&capped(pods(), "a lot"), &[&reason("0.0000", "0.0000")]);
    let plan = provision(&capped(pods(), "0.1"));
    let why = plan.unplaced[0].reasons[0].reason;
    assert_eq!(why, model::ledger::RejectionReason::DollarCapReached);
    let bounds = &plan.decisions[0].bounds;
    assert_eq!(bounds[0].left.as_deref(), Some("$0.1000 of $0.1000 an hour"));
}

#[test]
fn spot_counts_as_spot_where_nothing_else_may_be_launched() {
    let mut facts = capped(replicas("a", 1, &amd64("cpu=3500m")), "0.12");
    facts.node_pools[0].template.requirements = requirements(SPOT);
    check(&facts, &["general [t.gpu t.medium]: a-0"]);
}

#[test]
fn another_pool_takes_what_a_cap_leaves_over() {
    let mut facts = capped(replicas("a", 2, &amd64("cpu=3500m")), "0.7");
    facts.node_pools[0].weight = 9;
    facts.node_pools[0].template.requirements = requirements("type=t.medium");
    facts.node_pools.push(node_pool("other"));
    facts.node_pools[1].template.requirements = requirements("type=t.medium");
    check(&facts, &["general [t.medium]: a-0", "other [t.medium]: a-1"]);
    cap_cluster(&mut facts, "0.8");
    check(&facts, &["general [t.medium]: a-0", "other [t.medium]: a-1"]);
    cap_cluster(&mut facts, "0.79");
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (1, 1));
    let text = plan.unplaced[0].reasons[0].to_string();
    assert!(text.contains("MaxDollarsPerHour: $0.3900 of $0.7900 an hour"), "{text}");
}

#[test]
fn a_cap_that_is_far_away_changes_nothing() {
    let pods = replicas("a", 30, &amd64("cpu=900m"));
    let free = provision(&facts(pods.clone()));
    let plan = provision(&capped(pods, "100"));
    assert_eq!(shown(&plan), shown(&free));
}

#[test]
fn claims_count_until_they_are_deleted() {
    // 16 CPUs on demand, whatever the claim might have become.
    let mut facts = capped(replicas("a", 1, &amd64("cpu=3500m")), "2.0");
    let mut claim = add_managed(&mut facts, "n");
    facts.nodes.clear();
    let price = claim.instance.as_ref().unwrap().price;
    let left = HourlyPrice::parse_dollars("2").unwrap().saturating_sub(price);
    let is_placed = |facts: &Facts| provision(facts).unplaced.is_empty();
    assert!(is_placed(&facts), "{left}");
    let exactly = price.saturating_add(HourlyPrice::parse_dollars("0.4").unwrap());
    cap_pool(&mut facts, 0, &exactly.to_string());
    assert!(is_placed(&facts));
    cap_pool(&mut facts, 0, &exactly.saturating_sub(HourlyPrice::from_nanos(1)).to_string());
    assert!(!is_placed(&facts), "one nano-dollar is missing");
    // A type without a known price might cost anything.
    cap_pool(&mut facts, 0, "1000");
    let instance = claim.instance.as_mut().unwrap();
    instance.instance_type = "t.unknown".parse().unwrap();
    instance.price = HourlyPrice::default();
    facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    assert!(!is_placed(&facts));
    let claim = claim.deleted(model::DeletionReason::Expired, facts.now);
    facts.ledger.claims.insert(claim.name.clone(), claim);
    assert!(is_placed(&facts));
}

/// The dearest that EC2 could be paid for the new claims of `pool`, or of all pools.
fn worst(plan: &Plan, pool: Option<&NodePoolName>) -> u128 {
    let types = default_types();
    let price = |new: &model::plan::NewClaim| {
        let may_be = types.iter().filter(|t| new.claim.instance_types.contains(&t.name));
        let offerings = may_be.flat_map(|t| &t.offerings);
        let bought = offerings.filter(|o| o.is_compatible(&new.claim.requirements));
        bought.map(|offering| offering.price.parts()).max().expect("it can be bought")
    };
    let counts =
        |new: &&model::plan::NewClaim| pool.is_none_or(|pool| new.claim.node_pool == *pool);
    plan.new_claims.iter().filter(counts).map(price).sum()
}

proptest! {
    #[test]
    fn caps_are_never_overrun_while_plans_follow_each_other(
        rounds in proptest::collection::vec((1_u32..40, 1_usize..6, proptest::bool::ANY), 1..6),
        most in (0_u32..60, 0_u32..60),
        packed in proptest::bool::ANY,
    ) {
        let dollars = |tenths: u32| format!("{}.{}", tenths / 10, tenths % 10);
        let mut facts = facts(Vec::new());
        facts.node_pools.push(node_pool("second"));
        facts.node_pools[0].weight = 5;
        if packed {
            facts.policies.packing = Packing::Cheapest;
        }
        cap_pool(&mut facts, 0, &dollars(most.0));
        cap_cluster(&mut facts, &dollars(most.1));
        let first = facts.node_pools[0].name.clone();
        let mut total = Plan::default();
        for (round, (cpu, count, is_spot)) in rounds.into_iter().enumerate() {
            let requests = format!("cpu={}m", cpu * 300);
            let chosen = if is_spot { with_selector(&requests, &[SPOT]) } else { amd64(&requests) };
            facts.pods = replicas(&format!("r{round}"), count, &chosen);
            let plan = provision(&facts);
            commit(&mut facts, &plan);
            total.new_claims.extend(plan.new_claims);
            let parts = |tenths: u32| u128::from(tenths) * HourlyPrice::from_nanos(100_000_000).parts();
            prop_assert!(worst(&total, Some(&first)) <= parts(most.0));
            prop_assert!(worst(&total, None) <= parts(most.1));
        }
    }
}
