//! Which pods are on which nodes: what a page shows of it, within bounds.

use std::cmp::Reverse;

use jiff::Timestamp;
use model::Pod;

use crate::contents::{Interned, Mark, Moment, PackedNode, PackedPod, PackedWorkload, PackingView};

/// Nodes that a page shows of one time.
const NODES_MAX: usize = 400;

/// Collects what a page says of nodes and pods.
#[derive(Debug, Default)]
pub struct Packer {
    workloads: Interned<PackedWorkload>,
    texts: Interned<String>,
    moments: Vec<Moment>,
}

impl Packer {
    /// The place of a sentence.
    pub fn text(&mut self, text: String) -> usize {
        self.texts.place(text)
    }

    /// A pod of `workload`, and why it is where it is.
    pub fn pod(&mut self, pod: &Pod, workload: String, why: String) -> PackedPod {
        let requests = &pod.spec.requests;
        let workload =
            PackedWorkload { name: workload, cpu: requests.cpu.0, memory: requests.memory.0 };
        PackedPod(pod.key.name.to_string(), self.workloads.place(workload), self.texts.place(why))
    }

    /// All `nodes` at a time, which is no time where `at` is `None`; of very many
    /// those that go, then those with the most unused CPU.
    pub fn moment(&mut self, name: String, at: Option<Timestamp>, mut nodes: Vec<PackedNode>) {
        let nodes_left_out = nodes.len().saturating_sub(NODES_MAX);
        if nodes_left_out > 0 {
            let cpu: Vec<u64> = self.workloads.iter().fold(Vec::new(), |mut cpu, (work, place)| {
                cpu.resize(cpu.len().max(place + 1), 0);
                cpu.get_mut(place).into_iter().for_each(|amount| *amount = work.cpu);
                cpu
            });
            let requested = |pod: &PackedPod| cpu.get(pod.1).copied().unwrap_or_default();
            nodes.sort_by_cached_key(|node| {
                let used: u64 = node.pods.iter().map(requested).sum();
                let unused = Reverse(node.cpu.saturating_sub(used));
                (node.mark != Some(Mark::Goes), unused, node.name.clone())
            });
            nodes.truncate(NODES_MAX);
        }
        let at = at.map(Timestamp::as_second);
        self.moments.push(Moment { name, at, nodes, nodes_left_out });
    }

    /// All of it; `None` when there is no node at any time.
    pub fn finish(self, about: String) -> Option<PackingView> {
        if self.moments.iter().all(|moment| moment.nodes.is_empty()) {
            return None;
        }
        let Self { workloads, texts, moments } = self;
        Some(PackingView {
            about,
            workloads: workloads.into_values(),
            texts: texts.into_values(),
            moments,
        })
    }
}
