//! Instance types with offerings, from words.

use std::sync::Arc;

use model::{CapacityType, InstanceType, Offering, Requirement, Reservation, Resources, labels};

use super::{
    text::{price_of, read_requirement, valid},
    words::{Plain, Read, each_word, first, pair, parsed, plain, set_amount},
};

/// An instance type such as `m7g.large cpu=2 memory=8Gi pods=29 spot:us-west-2a=0.03`: arm64 if its
/// family ends with `g`, linux, in us-west-2, with the labels that follow from its name. The zones of
/// its offerings are its zones, and so are their capacity types.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn instance_type(words: &str) -> Arc<InstanceType> {
    Arc::new(valid(read_type(words)))
}

pub(crate) fn read_type(words: &str) -> Read<InstanceType> {
    let (name, rest) = first(words);
    let mut made = InstanceType {
        name: parsed(name)?,
        requirements: model::Requirements::default(),
        capacity: Resources::default(),
        overhead: Resources::default(),
        offerings: Vec::new(),
    };
    let mut labels = Vec::new();
    each_word(rest, |word| {
        match word.split_once(':') {
            Some(("on-demand", rest)) => offer(&mut made, CapacityType::OnDemand, rest)?,
            Some(("spot", rest)) => offer(&mut made, CapacityType::Spot, rest)?,
            Some(("reserved", rest)) => reserve(&mut made, rest)?,
            Some(("overhead", amount)) => set_amount(&mut made.overhead, amount)?,
            Some(("label", label)) => labels.push(read_requirement(label)?),
            Some(_) => return Err("a type has no such word".to_owned()),
            None if word == "unavailable" => {
                made.offerings.iter_mut().for_each(|offering| offering.is_available = false);
            }
            None => match plain(word)? {
                Plain::Amount(amount) => set_amount(&mut made.capacity, amount)?,
                Plain::Label(..) => labels.push(read_requirement(word)?),
            },
        }
        Ok(())
    })?;
    made.requirements = by_name(&made)?;
    for label in labels {
        made.requirements.replace(label);
    }
    Ok(made)
}

/// The requirements that follow from what is there.
fn by_name(made: &InstanceType) -> Read<model::Requirements> {
    let name = made.name.as_str();
    let (family, size) = name.split_once('.').unwrap_or((name, ""));
    let joined = |parts: Vec<&str>| parts.join(",");
    let reservations = made.offerings.iter().filter_map(|offering| offering.reservation.as_ref());
    let ids = joined(reservations.map(|reservation| reservation.id.as_str()).collect());
    let zones = made.offerings.iter().map(|offering| offering.zone.as_str()).collect();
    let capacity_types = made.offerings.iter().map(|offering| offering.capacity_type.as_str());
    let mut texts = vec![
        format!("type={name}"),
        format!("arch={}", if family.ends_with('g') { "arm64" } else { "amd64" }),
        "os=linux".to_owned(),
        "region=us-west-2".to_owned(),
        format!("zone={}", joined(zones)),
        format!("paid={}", joined(capacity_types.collect())),
        format!("{}={}", labels::INSTANCE_CATEGORY, family.chars().take(1).collect::<String>()),
        format!("{}={family}", labels::INSTANCE_FAMILY),
        format!("{}={size}", labels::INSTANCE_SIZE),
        format!("karpenter.k8s.aws/instance-cpu={}", made.capacity.cpu.0.div_ceil(1_000)),
        format!("karpenter.k8s.aws/instance-memory={}", made.capacity.memory.0 >> 20),
        format!("!{}", labels::INSTANCE_GPU_COUNT),
    ];
    if !ids.is_empty() {
        texts.push(format!("{}={ids}", labels::RESERVATION_ID));
        texts.push(format!("{}=default", labels::RESERVATION_TYPE));
    }
    texts
        .iter()
        .map(|text| read_requirement(text))
        .collect::<Read<Vec<Requirement>>>()
        .map(|requirements| requirements.into_iter().collect())
}

fn offer(made: &mut InstanceType, capacity_type: CapacityType, text: &str) -> Read<()> {
    let (zone, dollars) = pair(text)?;
    made.offerings.push(Offering {
        zone: parsed(zone)?,
        zone_id: None,
        capacity_type,
        price: price_of(dollars)?,
        is_available: true,
        reservation: None,
    });
    Ok(())
}

/// Free instances of a capacity reservation, at next to no price: `us-west-2a=cr-1,2`.
fn reserve(made: &mut InstanceType, text: &str) -> Read<()> {
    let (zone, held) = pair(text)?;
    let (id, count) = held.split_once(',').ok_or("it is not `zone=reservation,count`")?;
    let (kind, interruptible) = ("default".to_owned(), false);
    let reservation = Reservation { id: parsed(id)?, kind, interruptible, count: parsed(count)? };
    offer(made, CapacityType::Reserved, &format!("{zone}=0.000001"))?;
    if let Some(offering) = made.offerings.last_mut() {
        offering.reservation = Some(reservation);
    }
    Ok(())
}
