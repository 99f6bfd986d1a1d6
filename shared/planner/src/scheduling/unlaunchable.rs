//! NodePools whose requirements leave no instance type, whether or not pods wait for them.

use std::collections::BTreeMap;

use model::{
    NodePoolName,
    facts::{ClassOffer, Daemon, Facts},
    node_class::Obstacle,
    node_pool::NodePool,
    policies::MinValuesPolicy,
};

use super::{
    launchable::{
        cause::{cause, conflict, elsewhere},
        known::KnownTypes,
        template::{self, Template},
    },
    problem::Problem,
};
use crate::index::id::OfferId;

/// Why the NodePools of `facts` can launch nothing that their EC2NodeClass offers, by the name of the NodePool.
///
/// Static NodePools count. NodePools that are being deleted or have problems, and those whose class is missing or not
/// ready, are left out: that is said elsewhere.
#[must_use]
pub fn pools_without_types(facts: &Facts, known: &KnownTypes) -> BTreeMap<NodePoolName, String> {
    let mut problem = Problem::without_facts(facts);
    problem.open_pools(&[], known);
    problem.pools_without_types()
}

impl<'a> Problem<'a> {
    /// Whether `pool` launches nothing only because its EC2NodeClass was not resolved yet.
    pub(crate) fn has_unresolved_class(&self, pool: &NodePoolName) -> bool {
        let named = self.facts.node_pools.iter().find(|known| known.name == *pool);
        let class =
            named.and_then(|pool| self.facts.classes.as_ref()?.get(&pool.template.node_class));
        match class {
            Some(ClassOffer::NotReady(obstacles)) => obstacles.iter().all(Obstacle::is_unresolved),
            _ => false,
        }
    }

    /// The same of the facts of this problem, whose pools are open.
    pub(crate) fn pools_without_types(&mut self) -> BTreeMap<NodePoolName, String> {
        let facts = self.facts;
        let of_types = |name: &NodePoolName| {
            let pool = facts.node_pools.iter().find(|pool| pool.name == *name);
            pool.is_some_and(|pool| {
                pool.is_usable() && facts.ready_types(&pool.template.node_class).is_some()
            })
        };
        let closed = self.closed.iter().filter(|(name, _)| of_types(name));
        let mut whys: BTreeMap<NodePoolName, String> =
            closed.map(|(name, why)| ((*name).clone(), why.clone())).collect();
        for (pool, offer) in std::mem::take(&mut self.fixed) {
            if let Err(why) = self.template(pool, offer, &[]) {
                whys.insert(pool.name.clone(), why);
            }
        }
        whys
    }

    /// The template of `pool`, or why it can launch nothing of its offer.
    pub(super) fn template(
        &mut self,
        pool: &'a NodePool,
        number: OfferId,
        daemons: &[Daemon],
    ) -> Result<Template<'a>, String> {
        let offer = &mut self.offers[number];
        let template =
            Template::new(pool, (number, offer), daemons, &self.resources, &mut self.sets);
        let is_strict = self.facts.policies.min_values == MinValuesPolicy::Strict;
        let unmet = template.unmet(&template.types, template.set, &self.sets);
        if template.types.is_empty() {
            let text = "its requirements leave no instance type that can be bought now";
            let (index, class) = (&self.offers[number].index, &pool.template.node_class);
            let cause = cause(index, &pool.template.requirements, class)
                .or_else(|| elsewhere(index, &pool.template.requirements, class))
                .or_else(|| conflict(index, &template::requirements(pool)));
            let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
            return Err(format!("{text}{cause}"));
        }
        if is_strict && !unmet.is_empty() {
            return Err(template::too_few(&unmet));
        }
        Ok(template)
    }
}
