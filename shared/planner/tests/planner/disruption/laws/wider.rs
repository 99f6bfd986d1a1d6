//! What holds of the wider search: it saves no less than Karpenter's choice, and comes to an end.

use model::{PodSpec, disruption::Cursor, policies::Packing};

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_thorough_search_saves_no_less_and_may_be_stopped_and_taken_up(
        sketch in sketches(), work in 1..60_u64,
    ) {
        let mut facts = world(&sketch);
        let options = Options::default();
        let answers = outlook(&facts, &options).answers;
        facts.policies.consolidation = ConsolidationSearch::Thorough;
        let whole = thorough(&facts, &options, u64::MAX, None);
        prop_assert!(whole.left.is_none());
        let saving = |method| answers[&method].proposal.as_ref().map_or(0, |proposal| proposal.saving().nanos());
        let best = whole.proposal.as_ref().map_or(0, |proposal| proposal.saving().nanos());
        prop_assert!(saving(Method::MultiNode).max(saving(Method::SingleNode)) <= best);
        if let Some(command) = &whole.proposal {
            check_respect(&facts, command);
            check_begun(&facts, command);
        }
        let mut part = thorough(&facts, &options, work, None);
        for _ in 0..10_000 {
            let Some(cursor) = part.left.take() else { break };
            part = thorough(&facts, &options, work, Some(&cursor));
        }
        prop_assert_eq!(part.proposal, whole.proposal);
    }

    #[test]
    fn looks_that_go_on_save_no_less_than_karpenter_and_as_much_as_one_without_a_stop(
        sketch in sketches(), work in 2..60_u64,
    ) {
        let mut facts = world(&sketch);
        facts.policies.consolidation = ConsolidationSearch::Thorough;
        let usual = Options { work, ..Options::default() };
        let saving = |proposed: &planner::disruption::Finding| {
            let decision = proposed.decision.as_ref().unwrap();
            let before = decision.price_before.map_or(0, HourlyPrice::nanos);
            before.saturating_sub(decision.price_after.map_or(0, HourlyPrice::nanos))
        };
        // Of its work, a look gives each of Karpenter's methods a quarter.
        let quarter = Options { work: work / 4, ..usual.clone() };
        facts.policies.consolidation = ConsolidationSearch::Karpenter;
        let compatible = look(&facts, DisruptionReason::Underutilized, &quarter);
        facts.policies.consolidation = ConsolidationSearch::Thorough;
        // Sets are grown from what Karpenter would choose within that work.
        let seed = compatible.proposal.iter().flat_map(Proposal::nodes).cloned().collect();
        let from = Cursor { stage: 1, compatible: seed, ..Cursor::default() };
        let whole = thorough(&facts, &usual, u64::MAX, Some(&from));
        let most = whole.proposal.as_ref().map_or(0, |proposal| proposal.saving().nanos());
        let (mut options, mut best) = (usual, 0);
        for _ in 0..10_000 {
            let looked = look(&facts, DisruptionReason::Underutilized, &options);
            prop_assert!(saving(&compatible) <= saving(&looked), "{looked:?}");
            best = best.max(saving(&looked));
            options.from = looked.left;
            if options.from.is_none() {
                break;
            }
        }
        prop_assert!(options.from.is_none());
        prop_assert!(most <= best, "{most} <= {best}");
    }

    #[test]
    fn thorough_steps_save_each_and_come_to_an_end(sketch in sketches()) {
        let mut facts = world(&sketch);
        facts.policies.consolidation = ConsolidationSearch::Thorough;
        for step in 0..40 {
            let Some(command) = thorough(&facts, &Options::default(), u64::MAX, None).proposal else {
                return Ok(());
            };
            check_respect(&facts, &command);
            check_begun(&facts, &command);
            let after = carried_out(&facts, &command, step);
            prop_assert!(cost(&after) < cost(&facts), "{command:?}");
            facts = after;
        }
        prop_assert!(false, "it never ends");
    }

    #[test]
    fn after_a_cheapest_plan_packing_anew_finds_nothing(
        pods in proptest::collection::vec((0..SIZES.len(), 6..24_u8), 1..24),
    ) {
        let mut facts = cluster(&[]);
        facts.node_pools[0].disruption.budgets = vec![budget(BudgetNodes::Percent(100))];
        facts.policies.packing = Packing::Cheapest;
        facts.policies.consolidation = ConsolidationSearch::Thorough;
        facts.pods = pods.iter().enumerate().map(|(number, (size, _))| {
            pending(&format!("p-{number}"), spec(SIZES[*size]))
        }).collect();
        let facts = joined(&facts);
        let answer = thorough(&facts, &Options::default(), u64::MAX, None);
        prop_assert_eq!(answer.proposal, None);
    }
}

/// The cluster once what is planned for its pods has joined, as the cheapest that each claim may become.
fn joined(facts: &Facts) -> Facts {
    let plan = planner::provision(facts);
    assert!(plan.unplaced.is_empty(), "{:?}", plan.unplaced);
    let mut after = facts.clone();
    after.pods.clear();
    for (number, new) in plan.new_claims.iter().enumerate() {
        let name = format!("n{number}");
        let cheapest = &new.cheapest;
        add(&mut after, &name, cheapest.instance_type.as_str(), cheapest.capacity_type);
        let here = |pod: &&Pod| new.claim.pods.contains(&pod.key);
        let pods = facts.pods.iter().filter(here);
        after.pods.extend(pods.map(|pod| Pod {
            is_ready: true,
            ..running(pod.key.name.as_str(), &name, PodSpec::clone(&pod.spec))
        }));
    }
    after
}

/// What begins the command is as `plan-check` would have it, and still is when it is looked at again.
fn check_begun(facts: &Facts, proposal: &Proposal) {
    let (command, options) = (&proposal.command, Options::deployed());
    let id = CommandId::derived(command);
    let plan = begun(facts, (&id, command), &options).unwrap();
    assert_eq!(plan_check::violations(facts, &plan), Vec::new());
    assert_eq!(plan.new_claims.len(), command.replacements.len());
    let again = validated(facts, (&id, command), &options);
    assert_eq!((&again.new_claims, &again.changes), (&plan.new_claims, &plan.changes));
}
