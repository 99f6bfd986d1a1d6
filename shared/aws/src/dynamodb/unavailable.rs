//! Items that say what is unavailable: of offerings for every cluster of the region, and what is short for some
//! launches only.

use jiff::Timestamp;
use model::{
    CapacityType, ClusterName, InstanceTypeName, NodeClassName, NodePoolName, OfferingKey,
    PlacementGroupId, SubnetId, Zone, ledger::Shortage,
};

use super::{
    guard::Guard,
    item::{
        EXPIRES_AT, ITEM, Item, UNAVAILABLE_PREFIX, Unreadable, key_in, number, number_of,
        seconds_rounded_up, text_of, unreadable,
    },
};

/// What follows the prefix where something is short for some launches only.
const SHORTAGE_KINDS: [&str; 6] = ["class", "group", "market", "quota", "spread", "subnet"];

pub(super) fn unavailable_key(offering: &OfferingKey) -> String {
    format!("{UNAVAILABLE_PREFIX}{}", in_key(offering))
}

/// An offering as keys name it.
fn in_key(OfferingKey { capacity_type, instance_type, zone }: &OfferingKey) -> String {
    format!("{capacity_type}#{instance_type}#{zone}")
}

/// What stands there, if anything, ends no later than `until`.
pub(super) fn is_unavailable_longer(until: Timestamp) -> Guard {
    Guard::absent_or_at_most(EXPIRES_AT, number(seconds_rounded_up(until)))
}

/// The sort key of what is short for launches of `cluster`: as that of an offering, after what it is short for.
pub(super) fn shortage_key(cluster: &ClusterName, shortage: &Shortage) -> String {
    let key = match shortage {
        Shortage::Unsupported { class, offering } => {
            format!("class#{cluster}#{class}#{}", in_key(offering))
        }
        Shortage::Group { group, offering } => format!("group#{group}#{}", in_key(offering)),
        Shortage::Addresses { subnet } => format!("subnet#{subnet}"),
        Shortage::Spread { group, zone } => format!("spread#{group}#{zone}"),
        Shortage::Spot => "market#spot".to_owned(),
        Shortage::Quota { node_pool, word } => format!("quota#{cluster}#{node_pool}#{word}"),
    };
    format!("{UNAVAILABLE_PREFIX}{key}")
}

/// `until` is rounded up to whole seconds, which is what the table's TTL counts in.
pub(super) fn unavailable_item(region: &str, key: &str, until: Timestamp) -> Item {
    let mut whole = key_in(region, key);
    whole.insert(EXPIRES_AT.to_owned(), number(seconds_rounded_up(until)));
    whole
}

pub(super) fn unavailable_from_item(item: &Item) -> Result<(OfferingKey, Timestamp), Unreadable> {
    let offering = text_of(item, ITEM)?
        .strip_prefix(UNAVAILABLE_PREFIX)
        .and_then(offering)
        .ok_or_else(|| unreadable(item, format!("`{ITEM}` does not name an offering")))?;
    Ok((offering, expires_at(item)?))
}

/// Whether `item` says what is short for some launches only, and not that an offering is unavailable.
pub(super) fn is_shortage(item: &Item) -> bool {
    text_of(item, ITEM).is_ok_and(|key| SHORTAGE_KINDS.contains(&parts(key).0))
}

/// The kind in a sort key, and what follows it.
fn parts(key: &str) -> (&str, &str) {
    let key = key.strip_prefix(UNAVAILABLE_PREFIX).unwrap_or_default();
    key.split_once('#').unwrap_or_default()
}

/// What is short for launches of `cluster`; `None` if the item is about another cluster.
pub(super) fn shortage_from_item(
    cluster: &ClusterName,
    item: &Item,
) -> Result<Option<(Shortage, Timestamp)>, Unreadable> {
    let (kind, rest) = parts(text_of(item, ITEM)?);
    let shortage = match kind {
        "class" | "quota" => match rest.split_once('#') {
            Some((of, _)) if of != cluster.as_str() => return Ok(None),
            Some((_, rest)) if kind == "class" => unsupported(rest),
            Some((_, rest)) => quota(rest),
            None => return Ok(None),
        },
        "group" => of_group(rest),
        "subnet" => SubnetId::new(rest).ok().map(|subnet| Shortage::Addresses { subnet }),
        "spread" => spread(rest),
        "market" => Some(Shortage::Spot).filter(|_| rest == "spot"),
        _ => None,
    };
    let shortage =
        shortage.ok_or_else(|| unreadable(item, format!("`{ITEM}` does not name a shortage")))?;
    Ok(Some((shortage, expires_at(item)?)))
}

fn unsupported(key: &str) -> Option<Shortage> {
    let (class, rest) = key.split_once('#')?;
    Some(Shortage::Unsupported {
        class: NodeClassName::new(class).ok()?,
        offering: offering(rest)?,
    })
}

fn of_group(key: &str) -> Option<Shortage> {
    let (group, rest) = key.split_once('#')?;
    Some(Shortage::Group { group: PlacementGroupId::new(group).ok()?, offering: offering(rest)? })
}

fn spread(key: &str) -> Option<Shortage> {
    let (group, zone) = key.split_once('#')?;
    let group = PlacementGroupId::new(group).ok()?;
    Some(Shortage::Spread { group, zone: Zone::new(zone).ok()? })
}

fn quota(key: &str) -> Option<Shortage> {
    let (pool, word) = key.split_once('#')?;
    Some(Shortage::Quota { node_pool: NodePoolName::new(pool).ok()?, word: word.to_owned() })
}

fn expires_at(item: &Item) -> Result<Timestamp, Unreadable> {
    Timestamp::from_second(number_of(item, EXPIRES_AT)?)
        .map_err(|error| unreadable(item, format!("`{EXPIRES_AT}`: {error}")))
}

/// The offering that a sort key names, behind its prefix.
fn offering(key: &str) -> Option<OfferingKey> {
    let mut parts = key.splitn(3, '#');
    Some(OfferingKey {
        capacity_type: CapacityType::parse(parts.next()?)?,
        instance_type: InstanceTypeName::new(parts.next()?).ok()?,
        zone: Zone::new(parts.next()?).ok()?,
    })
}
