//! What claims ask for, as slots for devices.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{
    dynamic_resources::{
        AttributeValue, DeviceAsk, DeviceConstraint, DeviceCount, DeviceTemplates, RequestKind,
        ResourceClaim,
    },
    limits::DEVICES_PER_CLAIM_MAX,
};

use super::{
    search::{Choice, Mark, Slot, Task, User},
    stock::{Budget, Item, Name, Part, Stock, uses},
};

/// A claim with more ways to choose alternatives is not judged.
const WAYS_MAX: usize = 64;

/// Tasks, and what they take from.
pub(super) struct Tasks<'s, 'a> {
    stock: &'s Stock<'a>,
    pub(super) all: Vec<Task>,
    budgets: BTreeMap<Budget<'a>, usize>,
    pub(super) limits: Vec<i128>,
    marks: BTreeMap<Common<'a>, Mark>,
}

/// What devices have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Common<'a> {
    Value(&'a AttributeValue),
    /// Whatever the value will be, it is that of this device.
    With(Name<'a>),
}

/// What a claim may have of a node that becomes a type.
pub(super) struct Supply<'i, 'a> {
    pub(super) user: User,
    pub(super) items: &'i [Item<'a>],
    pub(super) templates: Option<&'a DeviceTemplates>,
}

/// Alternatives are more than are looked at.
pub(super) struct TooManyWays;

impl<'s, 'a> Tasks<'s, 'a> {
    pub(super) fn new(stock: &'s Stock<'a>) -> Self {
        let (budgets, marks) = (BTreeMap::new(), BTreeMap::new());
        Self { stock, all: Vec::new(), budgets, limits: Vec::new(), marks }
    }

    /// Adds the task to give a claim devices of `supply`.
    pub(super) fn add(
        &mut self,
        supply: &Supply<'_, 'a>,
        claim: &'a ResourceClaim,
    ) -> Result<(), TooManyWays> {
        let is_supported = claim.constraints.iter().all(|constraint| match constraint {
            DeviceConstraint::MatchAttribute { .. } => true,
            DeviceConstraint::Unsupported(_) => false,
        });
        let mut ways: Vec<Vec<Slot>> = if is_supported { vec![Vec::new()] } else { Vec::new() };
        for request in &claim.requests {
            let asks: Vec<(String, &'a DeviceAsk)> = match &request.kind {
                RequestKind::Exactly(ask) => vec![(request.name.clone(), ask)],
                RequestKind::FirstAvailable(asks) => {
                    let name = |sub: &str| format!("{}/{sub}", request.name);
                    asks.iter().map(|(sub, ask)| (name(sub), ask)).collect()
                }
                RequestKind::Unsupported => Vec::new(),
            };
            let alternatives = asks.iter().filter_map(|(name, ask)| {
                let under = under(claim, &request.name, name);
                self.slots(supply, ask, &under)
            });
            let alternatives: Vec<Vec<Slot>> = alternatives.collect();
            if WAYS_MAX < ways.len().saturating_mul(alternatives.len()) {
                return Err(TooManyWays);
            }
            let longer = ways.iter().flat_map(|way| {
                alternatives.iter().map(move |slots| way.iter().chain(slots).cloned().collect())
            });
            ways = longer.collect();
        }
        ways.retain(|slots| slots.len() <= DEVICES_PER_CLAIM_MAX);
        self.all.push(Task { user: supply.user, ways });
        Ok(())
    }

    /// The slots of a request with what may be in them; `None` if it cannot be satisfied.
    fn slots(
        &mut self,
        supply: &Supply<'_, 'a>,
        ask: &'a DeviceAsk,
        under: &[(usize, &'a str)],
    ) -> Option<Vec<Slot>> {
        if self.stock.fault(ask).is_some() {
            return None;
        }
        let mut selected = Vec::new();
        for item in supply.items {
            match (self.stock.selects(ask, item), ask.count) {
                (Ok(true), _) => selected.push(item),
                (Ok(false), _) | (Err(_), DeviceCount::Exact(_)) => {}
                (Err(_), DeviceCount::All) => return None,
            }
        }
        let mut choices = |items: &[&Item<'a>]| -> Rc<[Choice]> {
            items.iter().filter_map(|item| self.choice(supply, ask, item, under)).collect()
        };
        match ask.count {
            DeviceCount::Exact(count) if DEVICES_PER_CLAIM_MAX < count => None,
            DeviceCount::Exact(count) => {
                let choices = choices(&selected);
                let slot = |number| Slot { choices: Rc::clone(&choices), is_alike: 0 < number };
                Some((0..count).map(slot).collect())
            }
            DeviceCount::All if selected.is_empty() || DEVICES_PER_CLAIM_MAX < selected.len() => {
                None
            }
            DeviceCount::All => {
                let each = selected.iter().map(|item| choices(&[*item]));
                Some(each.map(|choices| Slot { choices, is_alike: false }).collect())
            }
        }
    }

    fn choice(
        &mut self,
        supply: &Supply<'_, 'a>,
        ask: &DeviceAsk,
        item: &Item<'a>,
        under: &[(usize, &'a str)],
    ) -> Option<Choice> {
        let mut choice = Choice { uses: Vec::new(), whole: None, marks: Vec::new() };
        for (constraint, attribute) in under {
            let common = common(item, attribute, supply.templates)?;
            let next = self.marks.len();
            let mark = *self.marks.entry(common).or_insert(next);
            choice.marks.push((*constraint, mark));
        }
        for (budget, amount) in uses(item, ask, supply.user)? {
            let part = budget.part;
            let limit = self.stock.limit(item, &budget);
            let number = *self.budgets.entry(budget).or_insert_with(|| {
                self.limits.push(limit);
                self.limits.len() - 1
            });
            choice.whole = choice.whole.or_else(|| (part == Part::Whole).then_some(number));
            choice.uses.push((number, amount));
        }
        Some(choice)
    }
}

/// Numbers and attributes of the constraints that a request, or an alternative of it, is under.
fn under<'a>(claim: &'a ResourceClaim, request: &str, name: &str) -> Vec<(usize, &'a str)> {
    let constraints = claim.constraints.iter().enumerate();
    constraints
        .filter_map(|(number, constraint)| match constraint {
            DeviceConstraint::MatchAttribute { attribute, requests } => {
                let is_named = requests.contains(request) || requests.contains(name);
                (requests.is_empty() || is_named).then_some((number, attribute.as_str()))
            }
            DeviceConstraint::Unsupported(_) => None,
        })
        .collect()
}

/// What a device has in common with others under a constraint: a value, or that templates say so.
fn common<'a>(
    item: &Item<'a>,
    attribute: &str,
    templates: Option<&'a DeviceTemplates>,
) -> Option<Common<'a>> {
    let attributes = &item.device.attributes;
    let short = attribute.split_once('/').filter(|(domain, _)| *domain == item.name.0);
    let value = attributes.get(attribute).or_else(|| attributes.get(short?.1));
    if let Some(value) = value {
        return Some(Common::Value(value));
    }
    let bindings = || {
        let bindings = templates.into_iter().flat_map(|templates| &templates.bindings);
        bindings.filter(|binding| binding.attribute == attribute && 1 < binding.devices.len())
    };
    let mut group = BTreeSet::new();
    let mut size = None;
    // What is bound to something of the group is of the group.
    while size != Some(group.len()) {
        size = Some(group.len());
        for binding in bindings() {
            let names = || binding.devices.iter().map(|id| (&*id.driver, &*id.pool, &*id.device));
            if names().any(|name| name == item.name || group.contains(&name)) {
                group.extend(names());
            }
        }
    }
    group.first().map(|first| Common::With(*first))
}
