//! Pods to pack, of kinds that clusters have.

use std::sync::Arc;

use model::{InstanceType, PodSpec, facts::Facts, labels as keys, policies::Packing};

use testkit::build::{daemon_set, resources};

use crate::{
    build::{affinity, facts, labels, listed, pending, spread},
    measure::Dice,
};

/// What pods are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Many services with little of everything.
    Micro,
    /// A bit of everything, large and small.
    Mixed,
    /// Pods with many CPUs each.
    Large,
    /// Caches and databases: 8 GiB for each CPU and more.
    Memory,
    /// Computing: 1 GiB for each CPU and less.
    Cpu,
    /// A sixth of the pods use GPUs.
    Gpu,
    /// Mixed, spread over zones.
    Zones,
    /// Mixed, no two of a workload on one host.
    Hosts,
    /// Mixed, where DaemonSets take their part of each node.
    Daemons,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Micro,
        Self::Mixed,
        Self::Large,
        Self::Memory,
        Self::Cpu,
        Self::Gpu,
        Self::Zones,
        Self::Hosts,
        Self::Daemons,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether no rule about other pods is in the way of the bound.
    pub(crate) fn is_plain(self) -> bool {
        !matches!(self, Self::Zones | Self::Hosts)
    }

    /// Milli-CPUs and MiB of one workload's pods.
    fn size(self, dice: &mut Dice) -> (usize, usize) {
        let between = |dice: &mut Dice, least: usize, most: usize| -> usize {
            // So that a factor is as likely anywhere.
            let mut size = least;
            while size < most && dice.below(8) != 0 {
                size += size / 3 + 1;
            }
            size.min(most)
        };
        match self {
            Self::Micro => (between(dice, 20, 500), between(dice, 32, 1_024)),
            Self::Large => (between(dice, 2_000, 16_000), between(dice, 4_096, 65_536)),
            Self::Memory => {
                let cpu = between(dice, 100, 4_000);
                (cpu, cpu * (8 + dice.below(10)) * 1_024 / 1_000)
            }
            Self::Cpu => {
                let cpu = between(dice, 250, 8_000);
                (cpu, cpu * (3 + dice.below(8)) * 1_024 / 10_000)
            }
            Self::Gpu => (between(dice, 1_000, 6_000), between(dice, 4_096, 24_576)),
            Self::Mixed | Self::Zones | Self::Hosts | Self::Daemons => match dice.below(10) {
                0..6 => (between(dice, 50, 1_000), between(dice, 64, 2_048)),
                6..9 => (between(dice, 500, 4_000), between(dice, 1_024, 16_384)),
                _ => (between(dice, 4_000, 16_000), between(dice, 8_192, 65_536)),
            },
        }
    }
}

fn workload(kind: Kind, index: usize, dice: &mut Dice) -> PodSpec {
    let name = format!("app-{index}");
    let entry = ("app", name.as_str());
    let (mut cpu, mut memory) = kind.size(dice);
    if dice.below(2) == 0 {
        // As people write it; the others are as a recommender says.
        cpu = cpu.div_ceil(50) * 50;
        memory = memory.div_ceil(128) * 128;
    }
    let gpus = match kind {
        Kind::Gpu if dice.below(6) == 0 => dice.one_of(&[" nvidia.com/gpu=1", " nvidia.com/gpu=2"]),
        _ => "",
    };
    let requests = resources(&format!("cpu={cpu}m memory={memory}Mi pods=1{gpus}"));
    let mut spec = PodSpec { labels: labels(&[entry]), requests, ..PodSpec::default() };
    match kind {
        Kind::Zones => spec.spread = vec![spread(keys::ZONE, entry, true)],
        Kind::Hosts => spec.pod_anti_affinity.required = vec![affinity(keys::HOSTNAME, entry)],
        _ => {}
    }
    spec
}

/// A cluster without nodes where `count` pods wait, on `capacity_types` of all `types`.
pub(crate) fn waiting(
    kind: Kind,
    count: usize,
    capacity_types: &[&str],
    types: &[Arc<InstanceType>],
    seed: u64,
) -> Facts {
    let mut dice = Dice::new(seed);
    let mut facts = facts(types.to_vec());
    for pool in &mut facts.node_pools {
        pool.template.requirements.add(listed(keys::CAPACITY_TYPE, capacity_types));
    }
    if kind == Kind::Daemons {
        facts.daemon_sets = vec![
            daemon_set("network cpu=50m memory=128Mi"),
            daemon_set("logs cpu=100m memory=256Mi"),
            daemon_set("metrics cpu=50m memory=64Mi"),
        ];
    }
    let mut index = 0;
    while facts.pods.len() < count {
        let spec = Arc::new(workload(kind, index, &mut dice));
        let replicas = dice.one_of(&[1, 2, 2, 3, 3, 5, 8, 12, 20, 40]);
        for replica in 0..replicas.min(count - facts.pods.len()) {
            facts.pods.push(pending(&format!("app-{index}-{replica}"), Arc::clone(&spec)));
        }
        index += 1;
    }
    facts
}

/// The same facts, packed otherwise.
pub(crate) fn packed(facts: &Facts, packing: Packing) -> Facts {
    let mut other = facts.clone();
    other.policies.packing = packing;
    other
}
