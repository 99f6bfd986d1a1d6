//! Rules on the hostname that pods of several classes share, as resources: a node has so much of each rule, and each of
//! its pods takes a part. So packing counts the pods of a rule, whatever their sizes.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    index::id::{ClassId, GroupId},
    scheduling::{
        problem::Problem,
        topology::{groups::Purpose, rules::Rule},
    },
};

/// Rules with the most pods that are shared. The time of packing grows with them; of the others each class counts its
/// own pods.
const SHARED_MAX: usize = 16;

/// How many pods that follow `rule`, and that it means, one node may have; `None` if that is not bounded.
pub(crate) fn most(problem: &Problem<'_>, rule: &Rule) -> Option<u32> {
    match problem.groups.all[rule.group].purpose {
        _ if !rule.is_own => None,
        Purpose::Spread { max_skew, .. } => Some(max_skew.max(1)),
        Purpose::AntiAffinity => Some(1),
        // A pod that its own anti-affinity selects follows that rule, too.
        Purpose::Affinity | Purpose::Inverse => None,
    }
}

/// A rule as a resource.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What each node has of it.
    pub(crate) room: i64,
    needs: BTreeMap<ClassId, i64>,
}

impl Shared {
    /// What a pod takes, if it is of a `class` with rules.
    pub(crate) fn need(&self, class: Option<ClassId>) -> i64 {
        class.and_then(|class| self.needs.get(&class)).copied().unwrap_or_default()
    }
}

/// The rules that several of `classes` share. `classes` are those with rules, with the number of their pods.
pub(crate) fn shared(
    problem: &Problem<'_>,
    followed: &BTreeMap<GroupId, (u32, BTreeSet<ClassId>)>,
    classes: &BTreeMap<ClassId, u32>,
) -> Vec<Shared> {
    let count = |class: &ClassId| classes.get(class).copied().unwrap_or_default();
    let mut shared = Vec::new();
    for (group, (most, followers)) in followed {
        let is_kept_off = |class: &&ClassId| {
            problem.groups.all[*group].purpose == Purpose::AntiAffinity
                && !followers.contains(class)
                && problem.profiles[problem.classes[**class].profile].is_meant(*group)
        };
        let kept_off: Vec<ClassId> = classes.keys().filter(is_kept_off).copied().collect();
        if followers.len() + kept_off.len() < 2 {
            continue;
        }
        // Those that follow no rule themselves share a node with each other, but with none that does.
        let each = kept_off.iter().map(|class| i64::from(count(class))).sum::<i64>().max(1);
        let pods: u32 = followers.iter().map(count).sum();
        let needs = kept_off.into_iter().map(|class| (class, 1));
        let needs = followers.iter().map(|class| (*class, each)).chain(needs).collect();
        shared.push((Reverse(pods), Shared { room: i64::from(*most) * each, needs }));
    }
    shared.sort_by_key(|(pods, _)| *pods);
    shared.truncate(SHARED_MAX);
    shared.into_iter().map(|(_, shared)| shared).collect()
}
