//! Pods that claim devices: `cargo bench -p planner --bench devices`.
//!
//! The catalog that comes with the program (us-west-2) with the GPUs and EFA interfaces that its types have, and 1,000
//! pods that wait, each with a ResourceClaim of its own: for no device, a GPU, a GPU and an interface of one PCIe
//! root, and a share of a GPU. Then pods that claim a GPU beside 1,000 nodes, whose GPUs other claims have. `judging_ms`
//! is what `plan-check` takes. Words after `--` choose.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/build.rs"]
#[expect(dead_code, reason = "other benchmarks need more rules")]
mod build;
#[path = "support/measure.rs"]
mod measure;

use std::{fmt::Write as _, sync::Arc};

use build::{facts, labels, pending};
use devices::{DeviceDrivers, InstanceDevices};
use measure::{Dice, measure, on_processor, price};
use model::{
    PodSpec,
    dynamic_resources::{DeviceFacts, GpuSharing},
    facts::Facts,
    labels as keys,
};
use testkit::build::{id, node, resources};

const PODS: usize = 1_000;
const NODES: usize = 1_000;

const CLASSES: &str = "class gpu where device.driver == 'gpu.nvidia.com'
    class efa where device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'\n";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_chosen = |name: &str| {
        let mut names = words.iter().filter(|word| !word.starts_with('-')).peekable();
        names.peek().is_none() || names.any(|word| word == name)
    };
    let whole = DeviceDrivers { nvidia_gpu: true, efa: true, sharing: None };
    let shared = DeviceDrivers { sharing: Some(GpuSharing::Shares(4)), ..whole };
    for (name, request, drivers, nodes) in [
        ("none", "", whole, 0),
        ("gpu", "g 1 gpu", whole, 0),
        ("root", "g 1 gpu; e 1 efa; same resource.kubernetes.io/pcieRoot", whole, 0),
        ("share", "g 1 gpu", shared, 0),
        ("beside", "g 1 gpu", whole, NODES),
    ] {
        if is_chosen(name) {
            run(name, &world(request, drivers, nodes));
        }
    }
}

fn world(request: &str, drivers: DeviceDrivers, nodes: usize) -> Facts {
    let mut dice = Dice::new(42);
    let catalog = instance_catalog::builtin().unwrap();
    let mut facts = facts(catalog.instance_types);
    let mut text = CLASSES.to_owned();
    for number in 0..PODS {
        let cpu = dice.one_of(&["500m", "1", "2", "4"]);
        let memory = dice.one_of(&["1Gi", "4Gi", "8Gi"]);
        let requests = resources(&format!("cpu={cpu} memory={memory} pods=1"));
        let mut spec = PodSpec { requests, ..PodSpec::default() };
        spec.labels = labels(&[("app", "train")]);
        if !request.is_empty() {
            spec.claims.references.push(("own".to_owned(), Some(id(&format!("c{number}")))));
            writeln!(text, "claim c{number}: {request}").unwrap();
        }
        facts.pods.push(pending(&format!("pod-{number}"), Arc::new(spec)));
    }
    for number in 0..nodes {
        let name = format!("node-{number}");
        let words =
            "cpu=192 memory=2000Gi pods=100 label:node.kubernetes.io/instance-type=p5.48xlarge";
        let joined = node(&format!("{name} {words}"));
        facts.nodes.insert(joined.name.clone(), joined);
        writeln!(text, "initialized {name}").unwrap();
        let gpus = "gpu-[0-7] model=h100 memory:80Gi";
        writeln!(text, "slice s{number} gpu.nvidia.com/{name} node={name} owner={name}: {gpus}")
            .unwrap();
        let each: Vec<_> = (0..8).map(|gpu| format!("gpu.nvidia.com/{name}/gpu-{gpu}")).collect();
        let holder = format!("has {} on name={name} for uid-x{number}", each.join(" "));
        writeln!(text, "claim x{number} {holder}: g 8 gpu").unwrap();
    }
    let types = facts.ready_classes().flat_map(|(_, types)| types);
    let known = testkit::build::devices(&text);
    let pool = facts.node_pools[0].name.clone();
    let templates = types.filter_map(|sold| {
        let templates = InstanceDevices::all().templates(&sold.name, &drivers)?;
        Some((sold.name.clone(), templates))
    });
    let templates = [(pool, templates.collect())].into();
    facts.devices = Some(Arc::new(DeviceFacts { templates, ..known }));
    facts
}

fn run(name: &str, facts: &Facts) {
    let cost = measure(facts, 3);
    let (plan, time) = (&cost.plan, cost.whole());
    let before = on_processor();
    assert_eq!(plan_check::violations(facts, plan), Vec::new());
    let judging = on_processor().saturating_sub(before);
    let claims = plan.new_claims.iter().map(|new| &new.claim);
    let with_drivers =
        claims.filter(|claim| claim.annotations.contains_key(keys::REQUESTED_DRA_DRIVERS));
    println!(
        "{name} n={PODS} seconds={}.{:03} preparing_ms={} solving_ms={} writing_ms={} judging_ms={} \
         nodes={} with_drivers={} price={} peak_memory_bytes={} unplaced={} undecided={}",
        time.as_secs(),
        time.subsec_millis(),
        cost.preparing.as_millis(),
        cost.solving.as_millis(),
        cost.writing.as_millis(),
        judging.as_millis(),
        plan.new_claims.len(),
        with_drivers.count(),
        price(plan),
        cost.memory_bytes,
        plan.unplaced.len(),
        plan_check::undecided(facts, plan),
    );
    if let Some(unplaced) = plan.unplaced.first() {
        println!("{}: {:?}", unplaced.pod, unplaced.reasons);
    }
}
