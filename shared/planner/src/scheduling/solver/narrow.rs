//! What is left of a new node's requirements when a pod joins it, with its volumes and its rules
//! about other pods.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/topology.go`, `AddRequirements`.

use super::{Pod, Run};
use crate::{
    index::id::{KeyId, SetId},
    scheduling::{
        numbers::domains::{Domains, Left},
        topology::rules::{Allowed, Choice},
    },
};

impl Run<'_, '_> {
    /// The requirements that a node with `set` may have when the pod joins it; none when it does not
    /// go. By what its volumes ask for, in the order in which that is tried: what equally good domains
    /// would make of it.
    pub(super) fn targets(&mut self, pod: &Pod, set: SetId) -> Vec<Vec<SetId>> {
        let preference = self.problem.constraints.all[pod.constraints].new;
        if !preference.is_possible {
            return Vec::new();
        }
        let Some(joined) = self.problem.sets.join(set, preference.set) else { return Vec::new() };
        let mut targets = Vec::new();
        for alternative in self.alternatives(pod.class).iter() {
            if !alternative.is_possible {
                continue;
            }
            if let Some(joined) = self.problem.sets.join(joined, alternative.set) {
                let mut sets = Vec::new();
                self.narrow(&pod.allowed, joined, &mut sets);
                if !sets.is_empty() {
                    targets.push(sets);
                }
            }
        }
        targets
    }

    /// What the rules leave of `set`, domain by domain where only one can stay.
    fn narrow(&mut self, rules: &[Allowed], set: SetId, sets: &mut Vec<SetId>) {
        let Some((first, rest)) = rules.split_first() else {
            sets.push(set);
            return;
        };
        // Rules on one label see the same node, not each other's answers.
        let same: Vec<&Allowed> = std::iter::once(first)
            .chain(rest.iter().filter(|rule| rule.key == first.key))
            .collect();
        let others: Vec<Allowed> =
            rest.iter().filter(|rule| rule.key != first.key).cloned().collect();
        let key = first.key;
        let left = self.problem.keys.left(set, &self.problem.sets);
        match left.known(key) {
            Some(Left::One(domain)) => {
                if same.iter().all(|rule| rule.domains.contains(*domain)) {
                    self.narrow(&others, set, sets);
                }
            }
            Some(Left::Some(domains, is_listed)) => {
                for kept in self.kept(&same, Some(domains)) {
                    if *is_listed && kept == **domains {
                        self.narrow(&others, set, sets);
                    } else {
                        self.restrict(key, &kept, set, &others, sets);
                    }
                }
            }
            Some(Left::Anything) | None => {
                for kept in self.kept(&same, None) {
                    self.restrict(key, &kept, set, &others, sets);
                }
            }
        }
    }

    fn restrict(
        &mut self,
        key: KeyId,
        kept: &Domains,
        set: SetId,
        others: &[Allowed],
        sets: &mut Vec<SetId>,
    ) {
        let problem = &mut *self.problem;
        let asking = problem.keys.all[key].asking(kept, &mut problem.sets);
        if let Some(joined) = problem.sets.join(set, asking) {
            self.narrow(others, joined, sets);
        }
    }

    /// The domains that may stay: all together, or, where only one can, each of the best.
    fn kept(&self, rules: &[&Allowed], open: Option<&Domains>) -> Vec<Domains> {
        let mut kept: Option<Domains> = open.cloned();
        let mut is_one = false;
        for rule in rules {
            let ids = match rule.choice {
                Choice::All => rule.domains.clone(),
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
