//! What nodes may cost. In the good plan `general` owns a node for $0.0816 and a claim on its way; the new claim may
//! become an m7g.xlarge for $0.1632.

use model::{DeletionReason, HourlyPrice, facts::Facts, labels};

use super::{check, good};

fn cap_pool(facts: &mut Facts, most: &str) {
    let annotations = &mut facts.node_pools[0].annotations;
    annotations.insert(labels::MAX_DOLLARS_PER_HOUR.to_owned(), most.to_owned());
}

/// What the claims of the good plan and its new claim cost.
fn sum() -> HourlyPrice {
    let (mut facts, plan) = good();
    cap_pool(&mut facts, "0");
    let text = super::violations(&facts, &plan)[0].to_string();
    let (_, rest) = text.split_once("would cost $").unwrap();
    let sum = rest.split_once(' ').unwrap().0.parse::<String>().unwrap();
    HourlyPrice::parse_dollars(&sum).unwrap()
}

#[test]
fn a_cap_holds_to_the_nano_dollar() {
    let dearest = HourlyPrice::parse_dollars("0.1632").unwrap();
    assert!(dearest < sum());
    let less = sum().saturating_sub(HourlyPrice::from_nanos(1));
    check(|facts, _| cap_pool(facts, &sum().to_string()), &[]);
    check(
        |facts, _| cap_pool(facts, &less.to_string()),
        &[&format!("NodePool general would cost ${} an hour, its cap is ${less}", sum())],
    );
    check(|facts, _| facts.policies.dollars_per_hour_max = Some(sum()), &[]);
    check(
        |facts, _| facts.policies.dollars_per_hour_max = Some(less),
        &[&format!("the cluster would cost ${} an hour", sum())],
    );
    check(|facts, _| cap_pool(facts, "a lot"), &["its cap is $0.0000"]);
}

#[test]
fn deleted_claims_do_not_count_and_a_plan_without_new_claims_may_stand_above() {
    check(
        |facts, plan| {
            cap_pool(facts, "0.1632");
            let now = facts.now;
            for claim in facts.ledger.claims.values_mut() {
                *claim = claim.deleted(DeletionReason::Expired, now);
            }
            plan.placements.clear();
            facts
                .pods
                .retain(|pod| !["on-node", "on-claim", "bound"].contains(&pod.key.name.as_str()));
        },
        &[],
    );
    check(
        |facts, plan| {
            cap_pool(facts, "0");
            plan.new_claims.clear();
            facts.pods.retain(|pod| !["web-0", "web-1"].contains(&pod.key.name.as_str()));
        },
        &[],
    );
}
