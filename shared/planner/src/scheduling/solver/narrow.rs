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
    /// The requirements that a node with `set` may have when the pod joins it, in the order in which
    /// they are tried; none when it does not go.
    pub(super) fn targets(&mut self, pod: &Pod, set: SetId) -> Vec<SetId> {
        let wish = self.problem.fixed.all[pod.fixed].new;
        if !wish.is_possible {
            return Vec::new();
        }
        let Some(joined) = self.problem.sets.join(set, wish.set) else { return Vec::new() };
        let mut all = Vec::new();
        for alternative in self.alternatives(pod.class).iter() {
            if !alternative.is_possible {
                continue;
            }
            if let Some(joined) = self.problem.sets.join(joined, alternative.set) {
                self.narrow(&pod.allowed, joined, &mut all);
            }
        }
        all
    }

    /// What the rules leave of `set`, domain by domain where only one can stay.
    fn narrow(&mut self, rules: &[Allowed], set: SetId, all: &mut Vec<SetId>) {
        let Some((first, rest)) = rules.split_first() else {
            all.push(set);
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
                    self.narrow(&others, set, all);
                }
            }
            Some(Left::Some(domains, is_listed)) => {
                for kept in self.kept(&same, Some(domains)) {
                    if *is_listed && kept == **domains {
                        self.narrow(&others, set, all);
                    } else {
                        self.restrict(key, &kept, set, &others, all);
                    }
                }
            }
            Some(Left::Anything) | None => {
                for kept in self.kept(&same, None) {
                    self.restrict(key, &kept, set, &others, all);
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
        all: &mut Vec<SetId>,
    ) {
        let problem = &mut *self.problem;
        let asking = problem.keys.all[key].asking(kept, &mut problem.sets);
        if let Some(joined) = problem.sets.join(set, asking) {
            self.narrow(others, joined, all);
        }
    }

    /// The domains that may stay: all together, or, where only one can, each of the best.
    fn kept(&self, rules: &[&Allowed], open: Option<&Domains>) -> Vec<Domains> {
        let mut kept: Option<Domains> = open.cloned();
        let mut is_one = false;
        for rule in rules {
            let own = match rule.choice {
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
                Some(kept) => kept.keep(&own),
                None => kept = Some(own),
            }
        }
        let kept = kept.unwrap_or_default();
        if kept.is_empty() {
            Vec::new()
        } else if is_one {
            let one = |domain| {
                let mut one = Domains::default();
                one.insert(domain);
                one
            };
            kept.iter().map(one).collect()
        } else {
            vec![kept]
        }
    }

    /// Of the allowed domains that are `open`, those with the fewest pods.
    fn emptiest(&self, rule: &Allowed, open: Option<&Domains>) -> Domains {
        let tally = &self.state.tallies[rule.group];
        let mut own = rule.domains.clone();
        if let Some(open) = open {
            own.keep(open);
        }
        let fewest = own.iter().map(|domain| tally.count(domain)).min();
        let mut best = own.clone();
        for domain in own.iter().filter(|domain| Some(tally.count(*domain)) != fewest) {
            best.remove(domain);
        }
        best
    }
}
