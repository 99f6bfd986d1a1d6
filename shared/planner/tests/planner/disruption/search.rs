//! What each method finds, and what it leaves (EM, DR, SD, CE, CR, CX, MS).

mod surroundings;

use jiff::SignedDuration;
use model::{
    CapacityType, NodeName, Pod,
    disruption::Method,
    facts::Facts,
    labels,
    node_pool::{BudgetNodes, BudgetWindow, ConsolidationPolicy},
    policies::Packing,
};
use planner::disruption::{Options, outlook, thorough};

use crate::planner::support::cluster::*;

use Method::{Drift, Emptiness, MultiNode, SingleNode, StaticDrift};

#[track_caller]
fn check(facts: &Facts, method: Method, expected: &str) {
    assert_eq!(decided(facts, method), expected, "{:?}", ask(facts, method).notes);
}

fn idle(count: usize) -> Facts {
    let names: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "t.small")).collect();
    cluster(&nodes)
}

fn budgeted(mut facts: Facts, nodes: BudgetNodes) -> Facts {
    facts.node_pools[0].disruption.budgets = vec![budget(nodes)];
    facts
}

#[test]
fn empty_nodes_go_together_within_budgets() {
    let going = |facts: &Facts| {
        ask(facts, Emptiness).proposal.map_or(0, |proposal| proposal.disrupted.len())
    };
    assert_eq!(ask(&idle(10), Emptiness).eligible.len(), 10);
    assert_eq!(going(&budgeted(idle(10), BudgetNodes::Percent(100))), 10);
    assert_eq!(going(&budgeted(idle(10), BudgetNodes::Percent(0))), 0);
    assert_eq!(going(&budgeted(idle(10), BudgetNodes::Percent(30))), 3);
    assert_eq!(going(&idle(1)), 1);
    let held = budgeted(idle(2), BudgetNodes::Count(1));
    let spent = "blocked by the disruption budgets of its NodePool for Empty";
    let limit = "at most 1 node may be disrupted";
    let first = format!("{spent}: {limit}, and 1 other is disrupted first");
    assert_eq!(why(&held, Emptiness, "n1"), first);
    let closed = budgeted(idle(2), BudgetNodes::Count(0));
    assert_eq!(why(&closed, Emptiness, "n1"), format!("{spent}: none may be disrupted now"));
    // Nodes that are not ready, and those that go already, are named.
    let mut held = budgeted(idle(6), BudgetNodes::Count(1));
    for name in ["n0", "n2", "n3", "n4"] {
        node(&mut held, name).is_ready = false;
    }
    let names = "n0, n2, n3 and 1 more are not ready";
    assert_eq!(why(&held, Emptiness, "n1"), format!("{spent}: {limit}, and {names}"));
    let mut held = budgeted(idle(2), BudgetNodes::Count(1));
    let leaving = claim(&mut held, "n0");
    *leaving = leaving.deleted(model::DeletionReason::Expired, now());
    assert_eq!(why(&held, Emptiness, "n1"), format!("{spent}: {limit}, and n0 is disrupted"));
    // Those that the same look takes count.
    let mut held = budgeted(idle(5), BudgetNodes::Count(3));
    let leaving = claim(&mut held, "n0");
    *leaving = leaving.deleted(model::DeletionReason::Expired, now());
    let by = "n0 is disrupted, 2 others are disrupted first";
    let limit = "at most 3 nodes may be disrupted";
    assert_eq!(why(&held, Emptiness, "n4"), format!("{spent}: {limit}, and {by}"));
}

#[test]
fn a_budget_that_cannot_be_read_says_itself_why_no_node_goes() {
    let mut facts = idle(2);
    let mut weekend = budget(BudgetNodes::Count(0));
    let schedule = "0 0 * * sat-sun".to_owned();
    weekend.window = Some(BudgetWindow { schedule, duration: SignedDuration::from_hours(24) });
    facts.node_pools[0].disruption.budgets.push(weekend);
    assert_eq!(
        why(&facts, Emptiness, "n1"),
        "no node of its NodePool is disrupted: spec.disruption.budgets[0].schedule: `0 0 * * sat-sun` \
         is not a schedule: the range `sat-sun` runs backwards; write `sat,sun`"
    );
}

/// The pods of `a` fit onto `b` and `c` if the larger one goes to `b`; so much is used there.
fn tight(used: &str) -> Facts {
    let mut facts = cluster(&[("a", "t.small"), ("b", "t.small"), ("c", "t.small")]);
    let stays = |pod: Pod| annotated(pod, labels::DO_NOT_DISRUPT, "true");
    facts.pods = vec![
        app("large", "a", "cpu=1200m memory=64Mi"),
        app("small", "a", "cpu=400m memory=64Mi"),
        stays(app("of-b", "b", &format!("cpu={used} memory=64Mi"))),
        stays(app("of-c", "c", "cpu=1400m memory=64Mi")),
    ];
    facts
}

#[test]
fn nodes_that_are_packed_go_only_where_pods_fit_as_kube_scheduler_may_place_them() {
    // That is Karpenter's rule, and kube-scheduler puts the smaller pod onto `b`.
    check(&tight("500m"), SingleNode, "a");
    let mut packed = tight("500m");
    packed.policies.packing = Packing::Cheapest;
    check(&packed, SingleNode, "nothing");
    assert_eq!(
        why(&packed, SingleNode, "a"),
        "its pods fit elsewhere only in an order that kube-scheduler need not follow"
    );
    assert_eq!(thorough(&packed, &Options::default(), u64::MAX, None).proposal, None);
    let mut roomy = tight("100m");
    roomy.policies.packing = Packing::Cheapest;
    check(&roomy, SingleNode, "a");
    // The annotation of its own NodePool counts more.
    packed.node_pools[0].annotations.insert(labels::PACKING.to_owned(), "karpenter".to_owned());
    check(&packed, SingleNode, "a");
}

/// Ten pools of three empty nodes each.
fn ten_pools(nodes: BudgetNodes) -> Facts {
    let mut facts = idle(30);
    let template = facts.node_pools.remove(0);
    for pool in 0..10 {
        let name = format!("pool-{pool}");
        let mut clone = template.clone();
        clone.name = name.parse().unwrap();
        clone.disruption.budgets = vec![budget(nodes)];
        facts.node_pools.push(clone);
        for index in 0..3 {
            let at = format!("n{}", 3 * pool + index);
            claim(&mut facts, &at).node_pool = name.parse().unwrap();
            node(&mut facts, &at).labels.insert(labels::NODE_POOL.to_owned(), name.clone());
        }
    }
    facts
}

#[test]
fn every_pool_has_its_own_budget() {
    let going = |facts: &Facts| {
        ask(facts, Emptiness).proposal.map_or(0, |proposal| proposal.disrupted.len())
    };
    assert_eq!(going(&ten_pools(BudgetNodes::Percent(50))), 20);
    assert_eq!(going(&ten_pools(BudgetNodes::Percent(100))), 30);
}

#[test]
fn what_is_empty_goes_as_empty_whatever_else_it_is() {
    let mut facts = idle(1);
    claim(&mut facts, "n0").conditions.drifted = Some("NodePoolDrifted".to_owned());
    assert_eq!(outlook(&facts, &Options::default()).first(), Some(Emptiness));
    facts.node_pools[0].disruption.consolidate_after = None;
    assert_eq!(outlook(&facts, &Options::default()).first(), Some(Drift));
    check(&facts, Drift, "n0");
}

#[test]
fn pods_that_need_no_other_node_leave_it_empty() {
    let with_pod = |pod: Pod| Facts { pods: vec![pod], ..idle(1) };
    let web = || app("web", "n0", "cpu=100m");
    let ending = |pod: Pod| Pod { deleted_at: Some(now()), ..pod };
    check(&with_pod(web()), Emptiness, "nothing");
    assert_eq!(why(&with_pod(web()), Emptiness, "n0"), "not empty: 1 pod would need another node");
    check(&with_pod(owned(web(), "apps/v1", "DaemonSet")), Emptiness, "n0");
    check(&with_pod(ending(web())), Emptiness, "n0");
    check(&with_pod(ending(owned(web(), "apps/v1", "StatefulSet"))), Emptiness, "nothing");
    let free = annotated(web(), "controller.kubernetes.io/pod-deletion-cost", "-134217728");
    check(&with_pod(free), Emptiness, "n0");
}

#[test]
fn emptiness_waits_for_its_condition_and_spares_what_is_protected_or_static() {
    let with = |change: &dyn Fn(&mut Facts)| {
        let mut facts = idle(1);
        change(&mut facts);
        decided(&facts, Emptiness)
    };
    assert_eq!(with(&|f| claim(f, "n0").conditions.is_consolidatable = Some(false)), "nothing");
    let absent = |f: &mut Facts| {
        claim(f, "n0").conditions.is_consolidatable = None;
        f.node_pools[0].disruption.consolidate_after = Some(SignedDuration::from_hours(24));
    };
    assert_eq!(with(&absent), "nothing");
    let annotate = |f: &mut Facts, text: &str| {
        let texts = &mut node(f, "n0").annotations;
        texts.insert(labels::DO_NOT_DISRUPT.to_owned(), text.to_owned());
    };
    assert_eq!(with(&|f| annotate(f, "true")), "nothing");
    assert_eq!(with(&|f| annotate(f, "false")), "n0");
    assert_eq!(with(&|f| f.node_pools[0].replicas = Some(1)), "nothing");
    assert_eq!(with(&|f| f.node_pools[0].disruption.policy = ConsolidationPolicy::WhenEmpty), "n0");
}

/// A half empty large node and its pods, beside what is given.
fn used(nodes: &[(&str, &str)], pods: Vec<Pod>) -> Facts {
    Facts { pods, ..cluster(nodes) }
}

#[test]
fn a_node_that_is_too_large_is_replaced_by_a_cheaper_one() {
    let facts = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    check(&facts, SingleNode, "a → t.small|t.gpu|t.medium");
    let proposal = ask(&facts, SingleNode).proposal.unwrap();
    assert_eq!(
        (proposal.price_before.nanos(), proposal.price_after.nanos()),
        (1_600_000_000, 200_000_000)
    );
    assert_eq!(proposal.saving().nanos(), 1_400_000_000);
    assert_eq!(proposal.moves.len(), 1);
    check(&used(&[("a", "t.small")], vec![app("web", "a", "cpu=1")]), SingleNode, "nothing");
    let tight = used(&[("a", "t.small")], vec![app("web", "a", "cpu=1")]);
    assert!(why(&tight, SingleNode, "a").contains("nothing below $0.2000 an hour"));
}

#[test]
fn a_node_whose_pods_fit_elsewhere_goes() {
    let pods = || vec![app("web", "a", "cpu=1"), app("db", "b", "cpu=1")];
    let nodes = [("a", "t.medium"), ("b", "t.medium")];
    check(&used(&nodes, pods()), SingleNode, "a");
    let mut held = used(&nodes, pods());
    held.surroundings.disruption_budgets = vec![pdb("hold", "web")];
    check(&held, SingleNode, "b");
    let mut unmanaged = used(&[("a", "t.medium")], vec![app("web", "a", "cpu=1")]);
    add_node(&mut unmanaged, crate::planner::support::node("own cpu=4 memory=8Gi pods=10"));
    check(&unmanaged, SingleNode, "a");
}

#[test]
fn nothing_is_moved_onto_a_node_that_is_starting_or_settling() {
    let nodes = [("a", "t.medium"), ("b", "t.large")];
    let pods = || vec![app("web", "a", "cpu=3"), app("db", "b", "cpu=3")];
    let mut starting = used(&nodes, pods());
    node(&mut starting, "b").labels.remove(labels::INITIALIZED);
    check(&starting, SingleNode, "nothing");
    assert!(why(&starting, SingleNode, "a").contains("wait for a node to start"));
    let settling = |after: Option<i64>| {
        let mut facts = used(&nodes, pods());
        facts.node_pools[0].disruption.consolidate_after = after.map(SignedDuration::from_secs);
        claim(&mut facts, "b").conditions.last_pod_event_at = Some(ago(100));
        claim(&mut facts, "b").conditions.is_consolidatable = Some(false);
        facts
    };
    check(&settling(Some(600)), SingleNode, "nothing");
    let waits = "its pods fit only onto nodes that are waiting for consolidateAfter since their last pod change";
    assert_eq!(why(&settling(Some(600)), SingleNode, "a"), waits);
    check(&settling(Some(60)), SingleNode, "a");
}

#[test]
fn a_pod_that_waits_for_ever_keeps_nothing_from_going() {
    let nodes = [("a", "t.medium"), ("b", "t.medium")];
    let pods = vec![app("web", "a", "cpu=1"), app("db", "b", "cpu=1")];
    let mut facts = used(&nodes, pods);
    facts.pods.push(pod("huge cpu=900"));
    check(&facts, SingleNode, "a");
    // One that opens a node is another new node of every what-if.
    facts.pods.push(pod("large cpu=15"));
    check(&facts, SingleNode, "nothing");
}

#[test]
fn several_nodes_merge_into_one_that_is_cheaper_and_of_another_type() {
    let three = [("a", "t.medium"), ("b", "t.medium"), ("c", "t.medium")];
    let each = |cpu: &str| {
        ["a", "b", "c"].map(|on| app(&format!("p-{on}"), on, &format!("cpu={cpu}"))).to_vec()
    };
    check(&used(&three, each("1")), MultiNode, "a b");
    // Two nodes of a type do not become one of that type.
    let two = used(
        &[("a", "t.medium"), ("b", "t.medium")],
        vec![app("p", "a", "cpu=3"), app("q", "b", "cpu=200m")],
    );
    check(&two, MultiNode, "nothing");
    assert!(why(&two, MultiNode, "b").contains("of the instance type that it replaces"));
}

#[test]
fn spot_is_replaced_by_spot_only_where_the_gate_is_open_and_enough_types_are_cheaper() {
    let mut facts = facts(vec![app("web", "a", "cpu=1")]);
    facts.node_pools[0].disruption.budgets.clear();
    add(&mut facts, "a", "t.large", CapacityType::Spot);
    check(&facts, SingleNode, "nothing");
    assert!(why(&facts, SingleNode, "a").contains("(feature gate SpotToSpotConsolidation)"));
    facts.policies.spot_to_spot_consolidation = true;
    assert!(why(&facts, SingleNode, "a").contains("and there are 3"));
    let mut many = default_types();
    many.extend((0..20).map(|index| {
        instance_type(
            &format!("s{index:02}.small"),
            &format!("cpu={} memory=4Gi pods=5", 2 + index % 8),
            &[],
        )
    }));
    many.sort_by(|a, b| a.name.cmp(&b.name));
    offer(&mut facts, many);
    let command = ask(&facts, SingleNode).proposal.unwrap().command;
    assert_eq!(command.replacements[0].instance_types.len(), 15);
}

#[test]
fn a_policy_or_a_budget_keeps_used_nodes() {
    let mut facts = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    facts.node_pools[0].disruption.policy = ConsolidationPolicy::WhenEmpty;
    check(&facts, SingleNode, "nothing");
    assert!(why(&facts, SingleNode, "a").contains("of NodePool general is WhenEmpty"));
    facts.node_pools[0].disruption.policy = ConsolidationPolicy::default();
    check(&budgeted(facts.clone(), BudgetNodes::Count(0)), SingleNode, "nothing");
    facts.node_pools[0].disruption.consolidate_after = None;
    assert_eq!(why(&facts, SingleNode, "a"), "consolidateAfter of NodePool general is Never");
    facts.node_pools[0].replicas = Some(1);
    assert!(why(&facts, SingleNode, "a").contains("NodePool general is static"));
}

#[test]
fn as_many_nodes_go_together_as_budgets_allow() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let nodes = names.map(|name| (name, "t.medium"));
    let mut facts = used(&nodes, names.map(|on| app(&format!("p-{on}"), on, "cpu=100m")).to_vec());
    add_node(&mut facts, crate::planner::support::node("own cpu=64 memory=64Gi pods=99"));
    check(&budgeted(facts.clone(), BudgetNodes::Count(3)), MultiNode, "a b c");
    check(&budgeted(facts, BudgetNodes::Percent(100)), MultiNode, "a b c d e f");
}

fn drifted(facts: &mut Facts, name: &str, since: i64) {
    let claim_conditions = &mut claim(facts, name).conditions;
    claim_conditions.drifted = Some("NodePoolDrifted".to_owned());
    claim_conditions.drifted_since = Some(ago(since));
}

#[test]
fn what_drifted_first_goes_first_and_before_it_what_has_no_pods() {
    let nodes = [("a", "t.small"), ("b", "t.small"), ("c", "t.small")];
    let pods = vec![app("p", "a", "cpu=1500m"), app("q", "b", "cpu=1500m")];
    let mut facts = used(&nodes, pods);
    facts.node_pools[0].disruption.consolidate_after = None;
    check(&facts, Drift, "nothing");
    drifted(&mut facts, "a", 10);
    drifted(&mut facts, "b", 20);
    drifted(&mut facts, "c", 5);
    check(&facts, Drift, "c");
    facts.nodes.retain(|name, _| name.as_str() != "c");
    facts.ledger.claims.retain(|name, _| name.as_str() != "claim-c");
    check(&facts, Drift, "b → t.small|t.gpu|t.medium|t.arm|t.large");
    // One that cannot move is passed over.
    facts.pods[1] = with(facts.pods[1].clone(), |spec| {
        spec.node_selector = requirements("team=none");
    });
    check(&facts, Drift, "a → t.small|t.gpu|t.medium|t.arm|t.large");
    assert!(why(&facts, Drift, "b").contains("cannot be scheduled elsewhere"));
    let cut = decide(&facts, &[Drift], &Options { work: 1, ..Options::default() });
    assert!(cut.is_cut_short && cut.proposal.is_none());
    assert!(cut.notes[&NodeName::new("a").unwrap()].to_string().starts_with("not reached"));
    check(&budgeted(facts, BudgetNodes::Count(0)), Drift, "nothing");
}

#[test]
fn a_drifted_node_may_need_several_in_its_place() {
    let mut facts = used(&[("a", "t.large")], Vec::new());
    facts.pods = (0..3).map(|index| app(&format!("p{index}"), "a", "cpu=1500m")).collect();
    facts.node_pools[0].template.requirements.add(requirement("type=t.small"));
    drifted(&mut facts, "a", 10);
    check(&facts, Drift, "a → t.small, t.small, t.small");
}

#[test]
fn drift_that_waits_for_pods_moves_only_those_that_will_leave() {
    let mut facts = used(&[("a", "t.small")], vec![app("web", "a", "cpu=1")]);
    drifted(&mut facts, "a", 10);
    facts.pods[0] = annotated(facts.pods[0].clone(), labels::DO_NOT_DISRUPT, "true");
    check(&facts, Drift, "nothing");
    claim(&mut facts, "a").termination_grace_period = Some(SignedDuration::from_mins(5));
    check(&facts, Drift, "a");
}

/// A static pool of a number of nodes, all drifted.
fn fixed(nodes: usize, replicas: u64, limit: Option<&str>) -> Facts {
    let mut facts = idle(nodes);
    facts.node_pools[0].replicas = Some(replicas);
    facts.node_pools[0].limits = limit.map(limits).unwrap_or_default();
    for index in 0..nodes {
        drifted(&mut facts, &format!("n{index}"), 10);
    }
    facts
}

#[test]
fn static_nodes_are_replaced_one_by_one_within_budget_and_limit() {
    let going = |facts: &Facts| {
        let proposal = ask(facts, StaticDrift).proposal;
        proposal.map_or((0, 0), |only| (only.disrupted.len(), only.command.replacements.len()))
    };
    assert_eq!(going(&budgeted(fixed(5, 5, None), BudgetNodes::Count(2))), (2, 2));
    assert_eq!(going(&budgeted(fixed(5, 5, None), BudgetNodes::Percent(20))), (1, 1));
    assert_eq!(going(&fixed(5, 5, Some("nodes=5"))), (0, 0));
    assert_eq!(going(&fixed(2, 5, Some("nodes=5"))), (2, 2));
    assert_eq!(going(&fixed(5, 5, Some("nodes=7"))), (2, 2));
    assert_eq!(going(&fixed(5, 5, Some("nodes=6"))), (1, 1));
    assert_eq!(going(&fixed(5, 5, None)), (5, 5));
    assert_eq!(going(&fixed(2, 1, None)), (0, 0));
    assert_eq!(going(&fixed(2, 0, None)), (0, 0));
    check(&fixed(2, 2, None), Drift, "nothing");
    check(&fixed(2, 2, None), Emptiness, "nothing");
    let mut facts = fixed(1, 1, None);
    claim(&mut facts, "n0").conditions.drifted = None;
    assert_eq!(going(&facts), (0, 0));
}

#[test]
fn static_nodes_go_first_where_there_is_no_room_for_two() {
    let mut facts = fixed(5, 5, Some("nodes=5"));
    facts.policies.static_capacity = true;
    facts.policies.terminate_first_drift = true;
    let going = |facts: &Facts| {
        let proposal = ask(facts, StaticDrift).proposal;
        proposal.map_or((0, 0), |only| (only.disrupted.len(), only.command.replacements.len()))
    };
    assert_eq!(going(&facts), (5, 0));
    assert_eq!(going(&budgeted(facts.clone(), BudgetNodes::Count(2))), (2, 0));
    let mut roomy = facts.clone();
    roomy.node_pools[0].limits = limits("nodes=6");
    assert_eq!(going(&roomy), (1, 1));
    facts.node_pools[0].problems.push(model::Problem::unusable("", "it is not ready"));
    assert_eq!(going(&facts), (0, 0));
    let full = "its static NodePool is at limits.nodes: a replacement needs a limit above replicas";
    assert_eq!(why(&facts, StaticDrift, "n0"), full);
}

#[test]
fn of_a_static_pool_whose_reservations_are_full_only_their_holders_go_first() {
    let mut facts = fixed(3, 3, None);
    facts.policies.terminate_first_drift = true;
    facts.node_pools[0].template.requirements = requirements("paid=reserved");
    let going = |facts: &Facts| {
        let proposal = ask(facts, StaticDrift).proposal?;
        let nodes: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
        Some((nodes.join(" "), proposal.command.replacements.len()))
    };
    for (name, id) in [("n0", "cr-gone"), ("n2", "cr-1")] {
        let labels = &mut node(&mut facts, name).labels;
        labels.insert(labels::CAPACITY_TYPE.to_owned(), "reserved".to_owned());
        labels.insert(labels::RESERVATION_ID.to_owned(), id.to_owned());
    }
    let reserve = |facts: &mut Facts, count| surroundings::reserve(facts, count);
    reserve(&mut facts, 0);
    assert_eq!(going(&facts), Some(("n2".to_owned(), 0)));
    let mut closed = facts.clone();
    closed.policies.terminate_first_drift = false;
    assert_eq!(going(&closed), Some(("n0 n1 n2".to_owned(), 3)));
    reserve(&mut facts, 1);
    assert_eq!(going(&facts), Some(("n0 n1 n2".to_owned(), 3)));
}

#[test]
fn pools_take_turns_and_those_that_were_not_reached_come_first() {
    let mut facts = idle(4);
    let mut other = facts.node_pools[0].clone();
    other.name = "other".parse().unwrap();
    facts.node_pools.push(other);
    for name in ["n2", "n3"] {
        claim(&mut facts, name).node_pool = "other".parse().unwrap();
        node(&mut facts, name).labels.insert(labels::NODE_POOL.to_owned(), "other".to_owned());
    }
    facts.pods = (0..4).map(|i| app(&format!("p{i}"), &format!("n{i}"), "cpu=1800m")).collect();
    let first = Options { work: 1, ..Options::default() };
    let answer_of = |options: &Options| decide(&facts, &[SingleNode], options);
    let cut = answer_of(&first);
    assert!(cut.is_cut_short && cut.proposal.is_none());
    let unseen: Vec<&str> = cut.unseen.iter().map(model::NodePoolName::as_str).collect();
    assert_eq!(unseen, ["other"]);
    assert!(cut.notes.contains_key(&NodeName::new("n0").unwrap()));
    let next = Options { work: 1, unseen: cut.unseen.into_iter().collect(), ..Options::default() };
    assert!(answer_of(&next).notes.contains_key(&NodeName::new("n2").unwrap()));
    let whole = answer_of(&Options::default());
    assert!(!whole.is_cut_short && whole.unseen.is_empty() && whole.examined_nodes == 4);
}

#[test]
fn while_a_claim_has_no_instance_nothing_is_decided() {
    let mut facts = idle(2);
    claim(&mut facts, "n1").instance = None;
    let view = outlook(&facts, &Options::default());
    assert!(view.waiting.is_some() && view.first().is_none());
    let mut answers = view.answers.values();
    assert!(answers.all(|answer| answer.proposal.is_none() && answer.error.is_some()));
}

#[test]
fn without_a_ready_pool_only_emptiness_decides() {
    let mut facts = idle(1);
    facts.pods = vec![];
    facts.node_pools[0].problems.push(model::Problem::unusable("", "it is not ready"));
    check(&facts, Emptiness, "n0");
    let mut used = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    used.node_pools[0].problems.push(model::Problem::unusable("", "it is not ready"));
    drifted(&mut used, "a", 1);
    check(&used, SingleNode, "nothing");
    check(&used, Drift, "nothing");
    assert!(ask(&used, Drift).error.is_some());
}
