//! A cluster of real shapes: `cargo bench -p planner --bench catalog`.
//!
//! The catalog that comes with the program (us-west-2), 1,000 nodes with 10 pods each, and 30,000
//! pods of 600 workloads that wait, with the mix of spreads and affinities that workloads have; and
//! the next look at it, when the new claims have not launched yet.
//! Then 50,000 pods of 1,000 workloads and 1,000 types, without nodes, for which a Lambda has a
//! minute.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/build.rs"]
mod build;
#[path = "support/measure.rs"]
mod measure;

use std::{collections::BTreeMap, sync::Arc};

use build::{affinity, facts, labels, listed, pending, spread};
use measure::{Cost, Dice, measure, price};
use model::{
    InstanceType, Plan, Pod, PodSpec, facts::Facts, labels as keys, node::Node, pod::PodPhase,
    topology::Weighted,
};
use testkit::build::{now, resources};

const WORKLOADS: usize = 600;
const NODES: usize = 1_000;
const PODS_PER_NODE: usize = 10;

fn main() {
    let catalog = instance_catalog::builtin().unwrap();
    let mut dice = Dice::new(42);
    let mut real = facts(catalog.instance_types.clone());
    let mut workloads = workloads(WORKLOADS, &mut dice);
    add_nodes(&mut real, &workloads, &mut dice);
    real.pods.extend(pods(&workloads, 30_000));
    let plan = run("cluster", &real);
    run("created", &committed(&real, &plan));

    let types: Vec<Arc<InstanceType>> =
        catalog.instance_types.iter().take(1_000).cloned().collect();
    let mut large = facts(types);
    workloads.extend(self::workloads(400, &mut dice));
    large.pods = pods(&workloads, 50_000);
    run("burst", &large);
}

/// The facts of the next look: the new claims have not launched, and all pods wait still.
fn committed(facts: &Facts, plan: &Plan) -> Facts {
    let mut after = facts.clone();
    after.ledger.head.counters.arrivals += 1;
    let claims = plan.new_claims.iter().map(|new| new.claim.clone());
    after.ledger.claims.extend(claims.map(|claim| (claim.name.clone(), claim)));
    after
}

fn run(name: &str, facts: &Facts) -> Plan {
    let cost = measure(facts, 1);
    let (Cost { memory_bytes, plan, .. }, time) = (&cost, cost.whole());
    let waiting = facts.pods.iter().filter(|pod| pod.is_provisionable()).count();
    let placed: usize = plan.placements.iter().map(|placement| placement.pods.len()).sum();
    let (nodes, price, unplaced) = (plan.new_claims.len(), price(plan), plan.unplaced.len());
    println!(
        "{name} n={waiting} seconds={}.{:03} preparing_ms={} solving_ms={} writing_ms={} \
         nodes={nodes} price={price} peak_memory_bytes={memory_bytes} on_existing={placed} \
         unplaced={unplaced}",
        time.as_secs(),
        time.subsec_millis(),
        cost.preparing.as_millis(),
        cost.solving.as_millis(),
        cost.writing.as_millis(),
    );
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for reason in plan.unplaced.iter().filter_map(|unplaced| unplaced.reasons.first()) {
        *reasons.entry(reason.to_string()).or_default() += 1;
    }
    for (reason, count) in reasons.iter().take(10) {
        println!("  {count} pods: {reason}");
    }
    cost.plan
}

/// What the pods of one workload look like. Of a hundred workloads 55 ask for nothing, 15 spread
/// hard over zones, 10 softly over zones and hosts, 8 keep to hosts of their own if they can and 4
/// always, 4 stay in one zone, 4 want to be near another workload.
fn workload(index: usize, dice: &mut Dice) -> PodSpec {
    let name = format!("app-{index}");
    let entry = ("app", name.as_str());
    let other = format!("app-{}", index / 2);
    let cpu = dice.one_of(&["100m", "250m", "500m", "1", "2", "4"]);
    let memory = dice.one_of(&["128Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi", "8Gi"]);
    let mut spec = PodSpec {
        labels: labels(&[entry, ("tier", dice.one_of(&["web", "data", "batch"]))]),
        requests: resources(&format!("cpu={cpu} memory={memory} pods=1")),
        ..PodSpec::default()
    };
    let weighted = |term| vec![Weighted { weight: 50, term }];
    match dice.below(100) {
        0..15 => spec.spread = vec![spread(keys::ZONE, entry, true)],
        15..25 => {
            spec.spread =
                vec![spread(keys::ZONE, entry, false), spread(keys::HOSTNAME, entry, false)];
        }
        25..33 => spec.pod_anti_affinity.preferred = weighted(affinity(keys::HOSTNAME, entry)),
        33..37 => spec.pod_anti_affinity.required = vec![affinity(keys::HOSTNAME, entry)],
        37..41 => spec.pod_affinity.required = vec![affinity(keys::ZONE, entry)],
        41..45 => {
            spec.pod_affinity.preferred = weighted(affinity(keys::ZONE, ("app", other.as_str())));
        }
        _ => {}
    }
    match dice.below(10) {
        0 => spec.node_selector.add(listed(keys::ARCH, &["arm64"])),
        1 => spec.node_selector.add(listed(keys::ARCH, &["amd64"])),
        2 => spec.node_selector.add(listed(keys::CAPACITY_TYPE, &["on-demand"])),
        _ => {}
    }
    spec
}

fn workloads(count: usize, dice: &mut Dice) -> Vec<Arc<PodSpec>> {
    (0..count).map(|index| Arc::new(workload(index, dice))).collect()
}

/// Pending pods, the same number of each workload.
fn pods(workloads: &[Arc<PodSpec>], count: usize) -> Vec<Pod> {
    let specs = workloads.iter().cycle().take(count).enumerate();
    specs.map(|(index, spec)| pending(&format!("pod-{index}"), Arc::clone(spec))).collect()
}

/// Unmanaged nodes, each with pods of random workloads, which fill about half of it.
fn add_nodes(facts: &mut Facts, workloads: &[Arc<PodSpec>], dice: &mut Dice) {
    let zones = ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"];
    for index in 0..NODES {
        let name = format!("ip-10-0-{}-{}", index / 250, index % 250);
        let arch = dice.one_of(&["amd64", "arm64"]);
        let (zone, kind) = (dice.one_of(&zones), dice.one_of(&["spot", "on-demand"]));
        let instance_type = if arch == "arm64" { "m7g.8xlarge" } else { "m7i.8xlarge" };
        let entries = [
            (keys::ARCH, arch),
            (keys::OS, "linux"),
            (keys::ZONE, zone),
            (keys::CAPACITY_TYPE, kind),
            (keys::INSTANCE_TYPE, instance_type),
            (keys::HOSTNAME, name.as_str()),
        ];
        let node = Node {
            labels: labels(&entries),
            allocatable: resources("cpu=31850m memory=120Gi pods=234"),
            ..testkit::build::node(&format!("{name} cpu=32 memory=128Gi pods=234"))
        };
        for place in 0..PODS_PER_NODE {
            let pod = pending(
                &format!("run-{index}-{place}"),
                Arc::clone(&workloads[dice.below(workloads.len())]),
            );
            facts.pods.push(Pod {
                node: Some(node.name.clone()),
                phase: PodPhase::Running,
                started_at: Some(now()),
                unschedulable_at: None,
                is_ready: true,
                ..pod
            });
        }
        facts.nodes.insert(node.name.clone(), node);
    }
}
