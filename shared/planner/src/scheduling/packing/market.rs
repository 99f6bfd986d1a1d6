//! Kinds of pods and what is sold. Of the rules about other pods it has only those that count the pods of one node.

use model::HourlyPrice;

use crate::index::id::{TemplateId, TypeId};

/// Distinct demands on the labels of a node that are told apart, one bit each.
pub(crate) type Demands = u128;

/// As many of them as there can be.
pub(crate) const DEMANDS_MAX: usize = 128;

/// Pods that ask for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What one of them requests.
    pub need: Box<[i64]>,
    /// How many there are.
    pub count: u32,
    /// How many of them one node may have.
    pub most: u32,
    /// An offer takes them that takes any of these demands.
    pub demands: Demands,
}

/// Something that is sold, and what its nodes take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What a node costs for one hour.
    pub price: Pico,
    /// What daemons leave for pods.
    pub room: Box<[i64]>,
    /// The demands that it takes.
    pub takes: Demands,
    /// The template that the node is launched from.
    pub template: TemplateId,
    /// The instance type of the node.
    pub instance_type: TypeId,
    /// The place of its market among those of the template's offer.
    pub market: usize,
}

/// Millionths of a millionth of a dollar.
pub type Pico = i64;

/// `price` in [`Pico`], rounded down.
pub(crate) fn pico(price: HourlyPrice) -> Pico {
    i64::try_from(price.parts() / PARTS_PER_PICO).unwrap_or(i64::MAX)
}

/// `amount` as a price; less than nothing is nothing.
pub(crate) fn price(amount: i128) -> HourlyPrice {
    let amount = u128::try_from(amount).unwrap_or_default();
    HourlyPrice::from_parts(amount.saturating_mul(PARTS_PER_PICO))
}

const PARTS_PER_PICO: u128 = 10_000;

/// Everything that is to be packed, and into what.
#[derive(Clone, Debug, Default)]
pub struct Market {
    /// How many amounts of needs and rooms are of resources. Those after them count pods of rules.
    pub resources: usize,
    /// The kinds of pods, with how many there are.
    pub items: Vec<Item>,
    /// Cheapest first.
    pub offers: Vec<Offer>,
}

impl Offer {
    /// Whether a pod of `item` goes onto an empty node of it.
    pub(crate) fn takes(&self, item: &Item) -> bool {
        self.takes & item.demands != 0
            && crate::scheduling::numbers::amounts::fits(&item.need, &self.room)
    }

    /// Whether whatever goes onto `other` goes here as well, for no more money.
    fn outdoes(&self, other: &Self) -> bool {
        self.price <= other.price
            && other.takes & !self.takes == 0
            && self.room.iter().zip(&other.room).all(|(own, other)| other <= own)
    }
}

/// How many pods with `need` go into `room`.
pub fn fitting(room: &[i64], need: &[i64]) -> u32 {
    let fits = room
        .iter()
        .zip(need)
        .filter(|(_, need)| 0 < **need)
        .map(|(room, need)| room / need)
        .min()
        .unwrap_or(i64::MAX);
    u32::try_from(fits.max(0)).unwrap_or(u32::MAX)
}

impl Market {
    /// The market of `items` and `offers`, without offers that another one outdoes or that take nothing.
    pub(crate) fn of(resources: usize, items: Vec<Item>, mut offers: Vec<Offer>) -> Self {
        // Of equally cheap ones the larger is first, so that it outdoes the smaller.
        offers.sort_by(|a, b| (a.price, &b.room).cmp(&(b.price, &a.room)));
        let mut kept: Vec<Offer> = Vec::new();
        for offer in offers {
            let is_needed = kept.iter().all(|other| !other.outdoes(&offer));
            if is_needed && items.iter().any(|item| offer.takes(item)) {
                kept.push(offer);
            }
        }
        Self { resources, items, offers: kept }
    }
}
