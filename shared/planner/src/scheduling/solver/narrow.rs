//! What is left of a new node's requirements when a pod joins it, with its volumes, its devices and
//! its rules about other pods.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/topology.go`, `AddRequirements`.

use super::{Pod, Run, devices::Planned};
use crate::{
    index::id::{DevicesId, KeyId, SetId},
    scheduling::{
        numbers::domains::{Domains, Left},
        topology::rules::{Allowed, Choice},
    },
};

/// Requirements that a node may have when a pod joins it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The place of what the pod's volumes ask for among the alternatives.
    alternative: usize,
    pub(super) set: SetId,
    /// The devices that the pod gets there; `None` if it claims none.
    pub(super) devices: Option<DevicesId>,
}

/// By alternative, what equally good domains would make of it.
pub(super) fn by_alternative(targets: &[Target]) -> impl Iterator<Item = &[Target]> {
    targets.chunk_by(|target, next| target.alternative == next.alternative)
}

impl Run<'_, '_> {
    /// The requirements that `node` with `set` may have when the pod joins it; none when it does not
    /// go. By what its volumes ask for, in the order in which that is tried: what equally good domains
    /// would make of it.
    pub(super) fn targets(&mut self, pod: &Pod, set: SetId, node: Planned) -> Vec<Target> {
        let preference = self.problem.constraints.all[pod.constraints].new;
        if !preference.is_possible {
            return Vec::new();
        }
        let Some(joined) = self.problem.sets.join(set, preference.set) else { return Vec::new() };
        let has_claims = self.has_claims(pod);
        let alternatives = self.alternatives(pod.class);
        let mut targets = Vec::with_capacity(alternatives.len());
        for (alternative, asked) in alternatives.iter().enumerate() {
            if !asked.is_possible {
                continue;
            }
            let joined = self.problem.sets.join(joined, asked.set);
            let Some(mut joined) = joined else { continue };
            let mut devices = None;
            if has_claims {
                let Some((narrowed, found)) = self.with_devices(pod, joined, node) else {
                    continue;
                };
                (joined, devices) = (narrowed, Some(found));
            }
            let mut push = |set| targets.push(Target { alternative, set, devices });
            self.narrow(&pod.allowed, joined, &mut push);
        }
        targets
    }

    /// What the rules leave of `set`, domain by domain where only one can stay, goes to `push`.
    fn narrow(&mut self, rules: &[Allowed], set: SetId, push: &mut dyn FnMut(SetId)) {
        let Some(key) = rules.first().map(|rule| rule.key) else {
            push(set);
            return;
        };
        // Rules on one label see the same node, not each other's answers.
        let same = rules.iter().filter(|rule| rule.key == key);
        let others: Vec<Allowed> = rules.iter().filter(|rule| rule.key != key).cloned().collect();
        let left = self.problem.keys.left(set, &self.problem.sets);
        match left.known(key) {
            Some(Left::One(domain)) => {
                if same.clone().all(|rule| rule.domains.contains(*domain)) {
                    self.narrow(&others, set, push);
                }
            }
            Some(Left::Some(domains, is_listed)) => {
                for kept in self.kept(same, Some(domains)) {
                    if *is_listed && kept == **domains {
                        self.narrow(&others, set, push);
                    } else {
                        self.restrict((key, &kept), set, &others, push);
                    }
                }
            }
            Some(Left::Anything) | None
                if same.clone().all(|rule| rule.choice == Choice::Apart) =>
            {
                self.narrow(&others, set, push);
            }
            Some(Left::Anything) | None => {
                for kept in self.kept(same, None) {
                    self.restrict((key, &kept), set, &others, push);
                }
            }
        }
    }

    fn restrict(
        &mut self,
        (key, kept): (KeyId, &Domains),
        set: SetId,
        others: &[Allowed],
        push: &mut dyn FnMut(SetId),
    ) {
        let problem = &mut *self.problem;
        let asking = problem.keys.all[key].asking(kept, &mut problem.sets);
        if let Some(joined) = problem.sets.join(set, asking) {
            self.narrow(others, joined, push);
        }
    }

    /// The domains that may stay: all together, or, where only one can, each of the best.
    fn kept<'r>(
        &self,
        rules: impl Iterator<Item = &'r Allowed>,
        open: Option<&Domains>,
    ) -> Vec<Domains> {
        let mut kept: Option<Domains> = open.cloned();
        let mut is_one = false;
        for rule in rules {
            let ids = match rule.choice {
                Choice::All | Choice::Apart => rule.domains.clone(),
                Choice::Any => {
                    is_one = true;
                    rule.domains.clone()
                }
                Choice::Fewest => {
                    is_one = true;
                    self.emptiest(rule, open)
                }
            };
            match &mut kept {
                Some(kept) => kept.keep(&ids),
                None => kept = Some(ids),
            }
        }
        let kept = kept.unwrap_or_default();
        if kept.is_empty() {
            Vec::new()
        } else if is_one {
            let single = |domain| {
                let mut ids = Domains::default();
                ids.insert(domain);
                ids
            };
            kept.iter().map(single).collect()
        } else {
            vec![kept]
        }
    }

    /// Of the allowed domains that are `open`, those with the fewest pods.
    fn emptiest(&self, rule: &Allowed, open: Option<&Domains>) -> Domains {
        let tally = &self.state.tallies[rule.group];
        let mut ids = rule.domains.clone();
        if let Some(open) = open {
            ids.keep(open);
        }
        let fewest = ids.iter().map(|domain| tally.count(domain)).min();
        let mut best = ids.clone();
        for domain in ids.iter().filter(|domain| Some(tally.count(*domain)) != fewest) {
            best.remove(domain);
        }
        best
    }
}
