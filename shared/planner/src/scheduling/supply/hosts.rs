//! Where existing capacity is.

use crate::{
    index::{
        bits::BitSet,
        id::{DomainId, PlaceId, kind},
        table::Table,
    },
    scheduling::{
        numbers::domains::{Domains, Keys},
        supply::{Supply, Whereabouts},
    },
};

/// By label: the one domain that something is in.
pub(crate) type DomainByKey = Table<kind::Key, Option<DomainId>>;

/// Existing capacity by label and domain.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub(crate) by_key: Table<kind::Key, ByDomain>,
    /// The one domain that existing capacity is in.
    pub(crate) domains: Table<kind::Place, DomainByKey>,
}

/// Existing capacity by the domains of one label.
#[derive(Debug, Default)]
pub(crate) struct ByDomain {
    pub(crate) at: Table<kind::Domain, BitSet<kind::Place>>,
    /// What will be in one of several.
    pub(crate) undecided: Vec<(PlaceId, Domains)>,
    /// What lacks the label.
    pub(crate) without: BitSet<kind::Place>,
}

impl Hosts {
    pub(crate) fn of(supply: &Supply, keys: &mut Keys) -> Self {
        let mut hosts =
            Self { by_key: keys.all.map(|_| ByDomain::default()), domains: Table::default() };
        for (place, existing) in supply.existing.entries() {
            let kind = &supply.kinds[existing.kind];
            let mut own = keys.all.map(|_| None);
            for ((key, by_domain), own) in
                keys.all.iter_mut().zip(hosts.by_key.iter_mut()).zip(own.iter_mut())
            {
                let label = key.label.clone();
                match kind.whereabouts(label.as_str()) {
                    Whereabouts::Nowhere => {
                        by_domain.without.insert(place);
                    }
                    Whereabouts::Unknown => {}
                    Whereabouts::At(value) => {
                        let domain = key.domain(value);
                        by_domain.at.grow(domain, BitSet::default);
                        by_domain.at[domain].insert(place);
                        *own = Some(domain);
                    }
                    Whereabouts::AtOneOf(values) => {
                        let mut domains = Domains::default();
                        domains.extend(values.iter().map(|value| key.domain(value)));
                        by_domain.undecided.push((place, domains));
                    }
                }
            }
            hosts.domains.push(own);
        }
        hosts
    }
}
