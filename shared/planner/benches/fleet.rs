//! Where consolidation leads: `cargo bench -p planner --bench fleet`.
//!
//! Fleets that Karpenter's packing built for 400 pods of five kinds (`support/workloads.rs`), and roomy
//! clusters (`support/cluster.rs`), all on-demand with the whole catalog of us-west-2. Each fleet is consolidated as
//! Karpenter would, as `thorough` does, and as `thorough` with what a step must yield, one command after the other
//! within the budgets, until nothing is found. Printed are dollars an hour before and after, below what no fleet for
//! these pods can cost, pods moved, commands, and seconds of one processor. Each command is begun and judged by
//! `plan-check`. Words after `--` choose kinds, numbers choose sizes of roomy clusters.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/build.rs"]
mod build;
#[path = "support/cluster.rs"]
#[expect(dead_code, reason = "other benchmarks need other clusters")]
mod cluster;
#[path = "support/measure.rs"]
#[expect(dead_code, reason = "other benchmarks measure more")]
mod measure;
#[path = "support/workloads.rs"]
#[expect(dead_code, reason = "other benchmarks pack otherwise")]
mod workloads;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use cluster::{add_node, cluster, running};
use measure::on_processor;
use model::{
    CommandId, HourlyPrice, NodeName, PodKey,
    disruption::Method,
    facts::Facts,
    plan::Target,
    policies::{ConsolidationSearch, Packing},
};
use planner::disruption::{Destination, Options, PreparedCluster, Proposal, begun};
use workloads::{Kind, waiting};

const KINDS: [Kind; 5] = [Kind::Micro, Kind::Mixed, Kind::Large, Kind::Memory, Kind::Cpu];
const PODS: usize = 400;
const ROOMY: [usize; 2] = [100, 300];
const COMMANDS_MAX: usize = 1_000;

/// How a fleet is consolidated: as Karpenter does, or thoroughly, with what a step must save an hour for each
/// pod that it moves, in nano-dollars.
#[derive(Clone, Copy)]
enum Way {
    Karpenter,
    Thorough(u64),
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut sizes: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let chosen: Vec<Kind> = KINDS.into_iter().filter(|kind| words.contains(&kind.name())).collect();
    let is_all = sizes.is_empty() && chosen.is_empty();
    let kinds = if is_all { KINDS.to_vec() } else { chosen };
    if is_all {
        sizes = ROOMY.to_vec();
    }
    let catalog = instance_catalog::builtin().unwrap();
    for kind in kinds {
        let mut facts = waiting(kind, PODS, &["on-demand"], &catalog.instance_types, 0);
        facts.node_pools[0].name = "general".parse().unwrap();
        for packing in [Packing::Karpenter, Packing::Cheapest] {
            facts.policies.packing = packing;
            let name = format!("{} built={packing:?}", kind.name());
            show(&name, &built(&facts), packing == Packing::Karpenter);
        }
    }
    for size in sizes {
        let facts = cluster(size, cluster::Kind::Roomy, &catalog.instance_types);
        show(&format!("roomy n={size}"), &facts, true);
    }
}

/// The cluster once everything is there that is planned for the pods that wait.
fn built(facts: &Facts) -> Facts {
    let plan = planner::provision(facts);
    assert!(plan.unplaced.is_empty(), "a pod has no place");
    let mut after = facts.clone();
    let mut homes: BTreeMap<PodKey, NodeName> = BTreeMap::new();
    for (index, new) in plan.new_claims.iter().enumerate() {
        let types = facts.ready_types(&new.claim.node_class).unwrap();
        let key = &new.cheapest;
        let sold = types.iter().find(|sold| sold.name == key.instance_type).unwrap();
        let node = add_node(&mut after, index, sold, &key.zone);
        homes.extend(new.claim.pods.iter().map(|pod| (pod.clone(), node.clone())));
    }
    for pod in &mut after.pods {
        *pod = running(pod.clone(), homes[&pod.key].clone());
    }
    after
}

fn cost(facts: &Facts) -> HourlyPrice {
    let claims = facts.ledger.claims.values().filter_map(|claim| claim.instance.as_ref());
    claims.map(|launched| launched.price).fold(HourlyPrice::default(), HourlyPrice::saturating_add)
}

/// What no fleet for the pods of `facts` can cost less than.
fn bound(facts: &Facts) -> HourlyPrice {
    let mut pods = BTreeMap::new();
    for pod in &facts.pods {
        *pods.entry(Arc::clone(&pod.spec)).or_default() += 1;
    }
    planner::lower_bound(facts, &pods, false).price
}

fn show(name: &str, facts: &Facts, has_yield: bool) {
    let bound = bound(facts);
    let of_move = 1_500_000_000 / 730;
    let mut ways = vec![("karpenter", Way::Karpenter), ("thorough", Way::Thorough(0))];
    if has_yield {
        ways.push(("thorough MoveSaving=1.5", Way::Thorough(of_move)));
    }
    for (way, how) in ways {
        let mut now = facts.clone();
        now.policies.consolidation = match how {
            Way::Karpenter => ConsolidationSearch::Karpenter,
            Way::Thorough(of_move) => {
                now.policies.calm.saving_per_move_min = HourlyPrice::from_nanos(of_move);
                ConsolidationSearch::Thorough
            }
        };
        let (mut moved, mut commands, mut time) = (0, 0, Duration::ZERO);
        let mut longest = Duration::ZERO;
        while commands < COMMANDS_MAX {
            let started = on_processor();
            let proposal = proposed(&now, how);
            let took = on_processor().saturating_sub(started);
            (time, longest) = (time + took, longest.max(took));
            let Some(proposal) = proposal else { break };
            judge(&now, &proposal);
            moved += proposal.moves.len();
            now = carried_out(&now, &proposal, 10_000 + commands * 1_000);
            commands += 1;
        }
        println!(
            "{name} consolidation={way} before={} after={} bound={bound} nodes={}/{} moved={moved} \
             commands={commands} seconds={}.{:03} longest={}.{:03}",
            cost(facts),
            cost(&now),
            now.nodes.len(),
            facts.nodes.len(),
            time.as_secs(),
            time.subsec_millis(),
            longest.as_secs(),
            longest.subsec_millis(),
        );
    }
}

fn proposed(facts: &Facts, how: Way) -> Option<Proposal> {
    let options = Options::default();
    let mut prepared = PreparedCluster::of(facts, &options);
    match how {
        Way::Karpenter => {
            let multi = prepared.decide(Method::MultiNode).proposal;
            multi.or_else(|| prepared.decide(Method::SingleNode).proposal)
        }
        Way::Thorough(_) => prepared.thorough(u64::MAX, None).proposal,
    }
}

fn judge(facts: &Facts, proposal: &Proposal) {
    let command = &proposal.command;
    let id = CommandId::derived(command);
    let plan = begun(facts, (&id, command), &Options::default()).unwrap();
    let violations = plan_check::violations(facts, &plan);
    assert!(violations.is_empty(), "the judge refuses the command: {violations:?}");
}

/// The cluster once the command is carried out, with the cheapest of what each replacement may become.
fn carried_out(facts: &Facts, proposal: &Proposal, index: usize) -> Facts {
    let mut after = facts.clone();
    for disrupted in &proposal.disrupted {
        after.nodes.remove(&disrupted.node);
        after.ledger.claims.remove(&disrupted.claim);
    }
    let mut new = Vec::new();
    for (place, replacement) in proposal.command.replacements.iter().enumerate() {
        let (key, _) = replacement.cheapest.as_ref().unwrap();
        let types = facts.ready_types(&"default".parse().unwrap()).unwrap();
        let sold = types.iter().find(|sold| sold.name == key.instance_type).unwrap();
        new.push(add_node(&mut after, index + place, sold, &key.zone));
    }
    let to = |to: &Destination| match to {
        Destination::Existing(Target::Node(node)) => node.clone(),
        Destination::Existing(Target::Claim(claim)) => panic!("nothing waits for {claim}"),
        Destination::Replacement(place) => new[*place].clone(),
    };
    let homes: BTreeMap<&PodKey, NodeName> =
        proposal.moves.iter().map(|moved| (&moved.pod, to(&moved.to))).collect();
    for pod in &mut after.pods {
        if let Some(node) = homes.get(&pod.key) {
            pod.node = Some(node.clone());
        }
    }
    after
}
