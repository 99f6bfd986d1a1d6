//! What claims ask for: first once for a pass, then on one node.
//!
//! Karpenter: `pkg/scheduling/dynamicresources/request.go`.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{
    InstanceTypeName,
    dynamic_resources::{
        DeviceAsk, DeviceClass, DeviceConstraint, DeviceCount, DeviceRequest, DeviceSelector,
        RequestKind, ResourceClaim,
    },
    limits::DEVICES_PER_CLAIM_MAX,
};

use crate::{
    inventory::Entry,
    pools::View,
    refusal::ClaimFault,
    select::{Expression, Selectors},
};

/// A claim is compared with this many others of its class at most.
const COMPARED_MAX: usize = 64;

/// A claim that may be searched for.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) claim: &'a ResourceClaim,
    pub(crate) constraints: Vec<Constraint<'a>>,
    pub(crate) requests: Vec<Request<'a>>,
}

/// Devices of some requests have one value of an attribute.
#[derive(Debug)]
pub(crate) struct Constraint<'a> {
    pub(crate) attribute: &'a str,
    requests: &'a BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Whether it is one of several alternatives.
    pub(crate) is_choice: bool,
    pub(crate) asks: Vec<Ask<'a>>,
}

#[derive(Debug)]
pub(crate) struct Ask<'a> {
    /// Unique in the claim.
    pub(crate) number: usize,
    /// `request` or `request/alternative`.
    pub(crate) name: String,
    request: &'a str,
    pub(crate) facts: &'a DeviceAsk,
    /// Those of the class first.
    pub(crate) selectors: Vec<Rc<Expression>>,
    /// How many are the class's.
    pub(crate) of_class: usize,
}

impl Constraint<'_> {
    pub(crate) fn is_about(&self, ask: &Ask<'_>) -> bool {
        self.requests.is_empty()
            || self.requests.contains(ask.request)
            || self.requests.contains(&ask.name)
    }
}

/// Looks classes up and compiles selectors.
pub(crate) fn prepare<'a>(
    claim: &'a ResourceClaim,
    classes: &BTreeMap<&str, &'a DeviceClass>,
    selectors: &mut Selectors<'_>,
) -> Result<Prepared<'a>, ClaimFault> {
    let constraint = |constraint: &'a DeviceConstraint| match constraint {
        DeviceConstraint::MatchAttribute { attribute, requests } => {
            Ok(Constraint { attribute, requests })
        }
        DeviceConstraint::Unsupported(kind) => {
            Err(ClaimFault::UnsupportedConstraint { kind: kind.clone() })
        }
    };
    let constraints = claim.constraints.iter().map(constraint).collect::<Result<_, _>>()?;
    let mut numbers = 0..;
    let mut ask = |name: String, request: &'a DeviceRequest, facts: &'a DeviceAsk| {
        let class = classes.get(facts.class.as_str()).ok_or_else(|| ClaimFault::ClassNotFound {
            request: name.clone(),
            class: facts.class.clone(),
        })?;
        let both = class.selectors.iter().chain(&facts.selectors);
        let selectors = compiled(&name, both, selectors)?;
        let number = numbers.next().unwrap_or_default();
        let of_class = class.selectors.len();
        Ok(Ask { number, name, request: &request.name, facts, selectors, of_class })
    };
    let mut requests = Vec::with_capacity(claim.requests.len());
    for request in &claim.requests {
        let name = &request.name;
        let unsupported = || ClaimFault::UnsupportedRequest { request: name.clone() };
        let (is_choice, asks) = match &request.kind {
            RequestKind::Exactly(facts) => (false, vec![ask(name.clone(), request, facts)?]),
            RequestKind::FirstAvailable(list) if !list.is_empty() => {
                let each =
                    |(own, facts): &'a (String, _)| ask(format!("{name}/{own}"), request, facts);
                (true, list.iter().map(each).collect::<Result<_, _>>()?)
            }
            RequestKind::FirstAvailable(_) | RequestKind::Unsupported => return Err(unsupported()),
        };
        requests.push(Request { is_choice, asks });
    }
    Ok(Prepared { claim, constraints, requests })
}

/// For each claim the number of the first one that asks for the same, as far as it was compared.
pub(crate) fn alike(claims: &[&ResourceClaim]) -> Vec<usize> {
    let mut firsts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let each = claims.iter().enumerate().map(|(number, claim)| {
        let class = claim.requests.first().map_or("", |request| match &request.kind {
            RequestKind::Exactly(ask) => &ask.class,
            RequestKind::FirstAvailable(_) | RequestKind::Unsupported => "",
        });
        let firsts = firsts.entry(class).or_default();
        let is_alike = |other: &&usize| {
            claims.get(**other).is_some_and(|other| {
                other.requests == claim.requests && other.constraints == claim.constraints
            })
        };
        let first = firsts.iter().find(is_alike).copied();
        if first.is_none() && firsts.len() < COMPARED_MAX {
            firsts.push(number);
        }
        first.unwrap_or(number)
    });
    each.collect()
}

fn compiled<'a>(
    request: &str,
    all: impl Iterator<Item = &'a DeviceSelector> + Clone,
    selectors: &mut Selectors<'_>,
) -> Result<Vec<Rc<Expression>>, ClaimFault> {
    if all.clone().any(|selector| *selector == DeviceSelector::Unsupported) {
        return Err(ClaimFault::UnsupportedSelector { request: request.to_owned() });
    }
    let expressions = all.filter_map(|selector| match selector {
        DeviceSelector::Cel(expression) => Some(expression),
        DeviceSelector::Unsupported => None,
    });
    let compile = |expression: &String| {
        selectors.compile(expression).map_err(|why| ClaimFault::Compile {
            request: request.to_owned(),
            expression: expression.clone(),
            why,
        })
    };
    expressions.map(compile).collect()
}

/// The devices of a node that an ask for all devices is about.
#[derive(Debug, Default)]
pub(crate) struct All<'s> {
    pub(crate) published: Vec<&'s Entry<'s>>,
    pub(crate) templates: BTreeMap<&'s InstanceTypeName, Vec<&'s Entry<'s>>>,
}

/// Instance types of a node, with the devices of their templates.
pub(crate) type Templates<'s> = BTreeMap<&'s InstanceTypeName, &'s [Entry<'s>]>;

/// A claim that is searched for on one node.
#[derive(Debug)]
pub(crate) struct Wanted<'s> {
    pub(crate) prepared: &'s Prepared<'s>,
    /// By number of an ask for all devices.
    alls: BTreeMap<usize, All<'s>>,
    /// Types that would give more devices than a claim may get.
    pub(crate) excessive: BTreeMap<&'s InstanceTypeName, usize>,
}

impl<'s> Wanted<'s> {
    /// Finds the devices of asks for all, and counts.
    pub(crate) fn new(
        prepared: &'s Prepared<'s>,
        view: &View<'s>,
        templates: &Templates<'s>,
        selectors: &Selectors<'_>,
    ) -> Result<Self, ClaimFault> {
        let mut alls = BTreeMap::new();
        for ask in prepared.requests.iter().flat_map(|request| &request.asks) {
            if ask.facts.count == DeviceCount::All {
                alls.insert(ask.number, all(ask, view, templates, selectors)?);
            }
        }
        let mut wanted = Self { prepared, alls, excessive: BTreeMap::new() };
        let published = wanted.least(|ask| match ask.facts.count {
            DeviceCount::Exact(count) => count,
            DeviceCount::All => wanted.all(ask).map_or(0, |devices| devices.published.len()),
        });
        if DEVICES_PER_CLAIM_MAX < published {
            return Err(ClaimFault::TooManyDevices { devices: published });
        }
        let excessive = templates.keys().filter_map(|instance_type| {
            let of_type = wanted.least(|ask| {
                wanted
                    .all(ask)
                    .and_then(|devices| devices.templates.get(*instance_type))
                    .map_or(0, Vec::len)
            });
            let devices = published.saturating_add(of_type);
            (DEVICES_PER_CLAIM_MAX < devices).then_some((*instance_type, devices))
        });
        wanted.excessive = excessive.collect();
        Ok(wanted)
    }

    /// The devices of an ask for all.
    pub(crate) fn all(&self, ask: &Ask<'_>) -> Option<&All<'s>> {
        self.alls.get(&ask.number)
    }

    /// The sum over requests of the least over their alternatives.
    fn least(&self, count: impl Fn(&Ask<'_>) -> usize) -> usize {
        let requests = self.prepared.requests.iter();
        let each = |request: &Request<'_>| request.asks.iter().map(&count).min().unwrap_or(0);
        requests.map(each).fold(0, usize::saturating_add)
    }
}

fn all<'s>(
    ask: &Ask<'_>,
    view: &View<'s>,
    templates: &Templates<'s>,
    selectors: &Selectors<'_>,
) -> Result<All<'s>, ClaimFault> {
    if let Some(pool) = view.unusable.first() {
        return Err(ClaimFault::Pool { request: ask.name.clone(), pool: pool.clone() });
    }
    let selects = |entry: &'s Entry<'s>| match selectors.select(&ask.selectors, entry) {
        Ok(is_selected) => Ok(is_selected.then_some(entry)),
        Err((expression, why)) => {
            let (request, device) = (ask.name.clone(), entry.id.clone());
            Err(ClaimFault::Evaluation { request, expression, device, why })
        }
    };
    let published = view.entries.iter().copied().map(selects).filter_map(Result::transpose);
    let published = published.collect::<Result<Vec<_>, _>>()?;
    let mut devices = All { published, templates: BTreeMap::new() };
    for (instance_type, entries) in templates {
        let of_type = entries.iter().map(selects).filter_map(Result::transpose);
        devices.templates.insert(instance_type, of_type.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(devices)
}
