//! Names, amounts, times, requirements.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use model::{
    BatchId, Bytes, ClusterName, CommandId, HourlyPrice, ImageId, InstanceId, InstanceTypeName,
    LabelKey, LaunchTemplateName, LedgerId, Millicores, Namespace, NodeClaimName, NodeClassName,
    NodeName, NodePoolName, ObjectName, PlacementGroupId, PodKey, PodUid, ProviderId, Requirement,
    Requirements, ReservationId, ResourceName, Resources, SubnetId, Taint, TaintEffect, Toleration,
    Values, Zone, ZoneId, requirement::Value, taint::TolerationOperator,
};

use super::{
    codec::{Damaged, Source, Stored, Writer, member, put_all, text},
    macros::{enumerations, names, structures},
};
use crate::record::parts;

names! {
    BatchId ClusterName CommandId ImageId InstanceId InstanceTypeName LabelKey LaunchTemplateName LedgerId
    Namespace NodeClaimName NodeClassName NodeName ObjectName PlacementGroupId PodUid ProviderId ReservationId
    ResourceName SubnetId Zone ZoneId
}

structures! {
    PodKey { 1 namespace, 2 name }
    Resources { 1 cpu, 2 memory, 3 ephemeral_storage, 4 pods, 5 extended }
    Taint { 1 key, 2 value, 3 effect }
    Toleration { 1 key, 2 operator, 3 value, 4 effect }
}

enumerations! {
    TaintEffect { 0 NoSchedule, 1 PreferNoSchedule, 2 NoExecute }
    TolerationOperator { 0 Equal, 1 Exists, 2 Gt, 3 Lt }
}

/// The most of a part of a second.
const NANOS: i128 = 999_999_999;

/// A claim that a user made has none, which is no name.
impl Stored for NodePoolName {
    fn put(&self, to: &mut Writer) {
        to.text(self.as_str());
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        text(from, |text| match text {
            "" => Ok(Self::none()),
            name => Self::new(name).map_err(|error| error.to_string()),
        })
    }
}

impl Stored for Millicores {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        u64::take(from).map(Self)
    }
}

impl Stored for Bytes {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        u64::take(from).map(Self)
    }
}

/// Nano-dollars, which most prices are whole of, and parts of one.
impl Stored for HourlyPrice {
    fn put(&self, to: &mut Writer) {
        let nano = Self::from_nanos(1).parts();
        to.number(self.parts() / nano);
        to.number(self.parts() % nano);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let nano = Self::from_nanos(1).parts();
        let nanos = from.number(u64::MAX.into())?;
        Ok(Self::from_parts(nanos * nano + from.number(nano - 1)?))
    }
}

impl Stored for Timestamp {
    fn put(&self, to: &mut Writer) {
        self.as_second().put(to);
        self.subsec_nanosecond().put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let [least, most] = [Self::MIN, Self::MAX].map(Self::as_second);
        let second = from.signed(least.into(), most.into())?;
        let nanosecond = from.signed(-NANOS, NANOS)?;
        let time = Self::from_nanosecond(second * (NANOS + 1) + nanosecond);
        time.map_err(|error| error.to_string())
    }
}

impl Stored for SignedDuration {
    fn put(&self, to: &mut Writer) {
        self.as_secs().put(to);
        self.subsec_nanos().put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let whole = Self::from_secs(i64::take(from)?);
        let nanos = from.signed(-NANOS, NANOS)?;
        let nanos = i64::try_from(nanos).map_err(|error| error.to_string())?;
        whole.checked_add(Self::from_nanos(nanos)).ok_or_else(|| "it is too long".to_owned())
    }
}

impl Stored for IpAddr {
    fn put(&self, to: &mut Writer) {
        to.text(&self.to_string());
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        text(from, |text| text.parse().map_err(|_| format!("`{text}` is not an address")))
    }
}

impl Stored for Values {
    fn put(&self, to: &mut Writer) {
        put_all(self.iter(), to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        Vec::<Value>::take(from).map(Self::from_iter)
    }
}

/// A lower bound of a requirement, which is never negative.
struct AtLeast(i64);

/// An upper bound; below zero there is only what `Lt 0` says.
struct AtMost(i64);

impl Stored for AtLeast {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let bound = from.signed(0, i64::MAX.into())?;
        bound.try_into().map(Self).map_err(|_| format!("{bound} is no bound"))
    }
}

impl Stored for AtMost {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let bound = from.signed(-1, i64::MAX.into())?;
        bound.try_into().map(Self).map_err(|_| format!("{bound} is no bound"))
    }
}

/// By the numbers of these members: 1 key, 2 whether it is a complement, 3 values, 4 lower bound, 5 upper bound,
/// 6 `minValues`.
impl Stored for Requirement {
    fn put(&self, to: &mut Writer) {
        let [at_least, at_most] = [self.at_least(), self.at_most()];
        to.structure(&[
            (1, self.key()),
            (2, &self.is_complement()),
            (3, self.values()),
            (4, &at_least.map(AtLeast)),
            (5, &at_most.map(AtMost)),
            (6, &self.min_values()),
        ]);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let mut frame = from.open();
        let key = member(from, &mut frame, (1, "Requirement.key"))?;
        let is_complement = member(from, &mut frame, (2, "Requirement.is_complement"))?;
        let values = member(from, &mut frame, (3, "Requirement.values"))?;
        let at_least: Option<AtLeast> = member(from, &mut frame, (4, "Requirement.at_least"))?;
        let at_most: Option<AtMost> = member(from, &mut frame, (5, "Requirement.at_most"))?;
        let min_values = member(from, &mut frame, (6, "Requirement.min_values"))?;
        from.close(frame)?;
        let bounds = (at_least.map(|bound| bound.0), at_most.map(|bound| bound.0));
        let set =
            if is_complement { Self::excluding(key, values) } else { Self::listed(key, values) };
        Ok(parts::bounded(set, bounds)?.with_min_values(min_values))
    }
}

impl Stored for Requirements {
    fn put(&self, to: &mut Writer) {
        put_all(self.iter(), to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        Vec::<Requirement>::take(from).map(Self::of_distinct)
    }
}
