//! Where existing capacity is.

use model::plan::Target;

use crate::{
    index::{bits::BitSet, table::Table},
    scheduling::{
        numbers::domains::Keys,
        supply::{Supply, Whereabouts},
        topology::groups::Group,
    },
};

/// Existing capacity by label and domain.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// By label.
    pub(crate) by_key: Table<ByDomain>,
    /// By existing capacity, then by label: the one domain that it is in.
    pub(crate) domains: Vec<Vec<Option<usize>>>,
}

/// Existing capacity by the domains of one label. What lacks the label is in none.
#[derive(Debug, Default)]
pub(crate) struct ByDomain {
    /// By domain.
    pub(crate) at: Vec<BitSet>,
    /// What will be in one of several.
    pub(crate) undecided: Vec<(usize, BitSet)>,
}

impl Hosts {
    pub(crate) fn of(supply: &Supply, keys: &mut Keys) -> Self {
        let mut all = Self {
            by_key: keys.all.iter().map(|_| ByDomain::default()).collect(),
            domains: Vec::new(),
        };
        for (place, existing) in supply.existing.iter().enumerate() {
            let Some(kind) = supply.kinds.get(existing.kind) else { continue };
            let mut own = vec![None; keys.all.len()];
            for ((key, by_domain), own) in
                keys.all.iter_mut().zip(all.by_key.iter_mut()).zip(&mut own)
            {
                let label = key.label.clone();
                match kind.whereabouts(label.as_str()) {
                    Whereabouts::Nowhere => {}
                    Whereabouts::At(value) => {
                        let domain = key.domain(value);
                        if by_domain.at.len() <= domain {
                            by_domain.at.resize_with(domain + 1, BitSet::default);
                        }
                        if let Some(hosts) = by_domain.at.get_mut(domain) {
                            hosts.insert(place);
                        }
                        *own = Some(domain);
                    }
                    Whereabouts::AtOneOf(values) => {
                        let mut domains = BitSet::default();
                        domains.extend(values.iter().map(|value| key.domain(value)));
                        by_domain.undecided.push((place, domains));
                    }
                }
            }
            all.domains.push(own);
        }
        all
    }

    /// The domains of nodes that `group` counts. Claims whose node did not join yet bring none.
    pub(crate) fn domains_of<'a>(
        &'a self,
        group: &'a Group,
        key: usize,
        supply: &'a Supply,
    ) -> impl Iterator<Item = usize> {
        let own = supply.existing.iter().zip(&self.domains);
        own.filter_map(move |(existing, domains)| {
            let Target::Node(_) = existing.target else { return None };
            let domain = domains.get(key).copied().flatten()?;
            let kind = supply.kinds.get(existing.kind)?;
            let is_open = group.filter.is_open();
            let passes = is_open || group.filter.passes(kind.taints(), |term| kind.accepts(term));
            passes.then_some(domain)
        })
    }
}
