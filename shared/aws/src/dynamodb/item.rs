//! Items of the ledger's table: what each kind has for a key and for attributes.
//!
//! The names here are the contract with `template.yaml`, whose index reads them, and with functions of
//! other releases that share the table while they are replaced.

use std::{borrow::Cow, collections::BTreeMap};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use jiff::{SignedDuration, Timestamp};
use model::{
    Bytes, ClusterName, CommandId, Function, ImageId, InstanceId, InstanceTypeName, NodeClaim,
    NodeClaimName, NodeClassName, NodePoolName,
    disruption::Command,
    duration::later,
    ledger::{LaunchRefusals, MeasuredKey, UnreadableItem},
    limits::ITEM_BYTES_MAX,
    node_pool::Registrations,
    pulse::Pulse,
    validation::Validation,
};
use ports::PortError;

use super::guard::Guard;
use crate::fault::BadRequest;

/// Attributes by name, in a fixed order.
pub(super) type Item = BTreeMap<String, AttributeValue>;

/// Partition key.
pub(super) const CLUSTER: &str = "cluster";
/// Sort key.
pub(super) const ITEM: &str = "item";
/// Key of the index of claims by instance.
pub(super) const INSTANCE_ID: &str = "instance_id";
/// The table's TTL attribute: seconds since 1970.
pub(super) const EXPIRES_AT: &str = "expires_at";
pub(super) const PHASE: &str = "phase";
pub(super) const VERSION: &str = "version";
pub(super) const CLAIMS: &str = "claims";
pub(super) const RECORD: &str = "record";
pub(super) const RETRY: &str = "retry";
pub(super) const SEQUENCE: &str = "sequence";
pub(super) const MEMORY: &str = "memory";

/// Sort key of what is sold.
pub(super) const CATALOG: &str = "catalog";
/// Sort keys of new claims that are kept together start with it.
pub(super) const BATCH_PREFIX: &str = "batch#";
/// Sort keys of claims start with it.
pub(super) const CLAIM_PREFIX: &str = "claim#";
/// Sort keys of offerings that are unavailable start with it.
pub(super) const UNAVAILABLE_PREFIX: &str = "cooling#";
/// Sort keys of memory that was measured start with it.
pub(super) const MEASURED_PREFIX: &str = "measured#";
/// Sort keys of commands that wait start with it.
pub(super) const COMMAND_PREFIX: &str = "command#";
/// Sort keys of pools whose launches were refused start with it.
pub(super) const REFUSALS_PREFIX: &str = "refusals#";
/// Sort keys of how launches of pools ended start with it.
pub(super) const REGISTRATIONS_PREFIX: &str = "registrations#";

/// Sort keys of pulses start with it.
pub(super) const PULSE_PREFIX: &str = "pulse#";
/// Sort keys of what dry runs of classes came to start with it.
pub(super) const VALIDATION_PREFIX: &str = "validation#";

/// How long it is kept how launches of a pool ended, after the latest of them. The status of the pool keeps
/// what it came to.
const REGISTRATIONS_KEPT: SignedDuration = SignedDuration::from_hours(60 * 24);
/// How long refusals are kept after they held a pool back last: another one is counted on top of them.
const REFUSALS_KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Why an item cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("item `{item}` of cluster `{cluster}`: {problem}")]
pub(super) struct Unreadable {
    cluster: String,
    item: String,
    problem: String,
}

pub(super) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Where the items of a cluster are written, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partition<'a> {
    pub(super) table: &'a str,
    pub(super) cluster: &'a ClusterName,
    pub(super) form: RecordForm,
}

/// How the records of claims are written. Both forms are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordForm {
    /// In a few hundred bytes: the table is paid for by the kilobyte.
    #[default]
    Packed,
    /// As a text, for functions of the release of commit 405e221 that share the table.
    Text,
}

impl RecordForm {
    /// `record` as it stands in items of which there are many.
    pub(super) fn of(self, record: &str) -> AttributeValue {
        match self {
            Self::Packed => AttributeValue::B(Blob::new(wire::packed::pack(record))),
            Self::Text => text(record),
        }
    }
}

pub(super) fn number(number: impl Into<i128>) -> AttributeValue {
    AttributeValue::N(number.into().to_string())
}

pub(super) fn claim_key(name: &NodeClaimName) -> String {
    format!("{CLAIM_PREFIX}{name}")
}

pub(super) fn pulse_key(function: Function) -> String {
    format!("{PULSE_PREFIX}{function}")
}

pub(super) fn command_key(id: &CommandId) -> String {
    format!("{COMMAND_PREFIX}{id}")
}

pub(super) fn refusals_key(pool: &NodePoolName) -> String {
    format!("{REFUSALS_PREFIX}{pool}")
}

pub(super) fn registrations_key(pool: &NodePoolName) -> String {
    format!("{REGISTRATIONS_PREFIX}{pool}")
}

pub(super) fn validation_key(class: &NodeClassName) -> String {
    format!("{VALIDATION_PREFIX}{class}")
}

/// The partition of what all clusters in `region` share. No cluster's name has a `#`.
pub(super) fn region_partition(region: &str) -> String {
    format!("region#{region}")
}

/// The key of `item` in the partition of `cluster`.
pub(super) fn key(cluster: &ClusterName, item: &str) -> Item {
    key_in(cluster.as_str(), item)
}

pub(super) fn key_in(partition: &str, item: &str) -> Item {
    [(CLUSTER.to_owned(), text(partition)), (ITEM.to_owned(), text(item))].into()
}

fn item<const N: usize>(
    cluster: &ClusterName,
    item: &str,
    attributes: [(&str, AttributeValue); N],
) -> Item {
    let mut whole = key(cluster, item);
    whole.extend(attributes.map(|(name, value)| (name.to_owned(), value)));
    whole
}

pub(super) fn claim_item(to: Partition<'_>, claim: &NodeClaim) -> Item {
    let mut whole = item(
        to.cluster,
        &claim_key(&claim.name),
        [
            (PHASE, text(claim.phase.code())),
            (VERSION, number(claim.version)),
            (RECORD, to.form.of(&wire::record::encode_claim(claim))),
        ],
    );
    if let Some(instance) = &claim.instance {
        whole.insert(INSTANCE_ID.to_owned(), text(instance.id.as_str()));
    }
    if let Some(retry) = claim.retry {
        whole.insert(RETRY.to_owned(), text(&wire::record::encode_retry(retry)));
    }
    whole
}

/// The attributes that the item of a claim may have, and that are taken away where the claim has none of
/// them. All others are another release's, and stay.
pub(super) const OF_CLAIMS: [&str; 5] = [PHASE, VERSION, RECORD, INSTANCE_ID, RETRY];

/// What stands there is the version of `claim` before it.
pub(super) fn follows(claim: &NodeClaim) -> Guard {
    Guard::equal(VERSION, number(claim.version.saturating_sub(1)))
}

/// What stands there, if anything, is no less than `memory`.
pub(super) fn is_least(memory: Bytes) -> Guard {
    Guard::absent_or_at_least(MEMORY, number(memory.0))
}

pub(super) fn measured_item(
    cluster: &ClusterName,
    key: &MeasuredKey,
    memory: Bytes,
    until: Timestamp,
) -> Item {
    let MeasuredKey { instance_type, image } = key;
    item(
        cluster,
        &format!("{MEASURED_PREFIX}{instance_type}#{image}"),
        [(MEMORY, number(memory.0)), (EXPIRES_AT, number(seconds_rounded_up(until)))],
    )
}

pub(super) fn pulse_item(cluster: &ClusterName, function: Function, pulse: &Pulse) -> Item {
    let record = text(&wire::record::encode_pulse(pulse));
    item(cluster, &pulse_key(function), [(SEQUENCE, number(pulse.sequence)), (RECORD, record)])
}

pub(super) fn command_item(cluster: &ClusterName, id: &CommandId, command: &Command) -> Item {
    let record = text(&wire::record::encode_command(command));
    item(cluster, &command_key(id), [(RECORD, record)])
}

pub(super) fn refusals_item(
    cluster: &ClusterName,
    pool: &NodePoolName,
    refusals: &LaunchRefusals,
) -> Item {
    let expires_at = later(refusals.until, REFUSALS_KEPT);
    let record = text(&wire::record::encode_refusals(refusals));
    let expires_at = number(seconds_rounded_up(expires_at));
    item(cluster, &refusals_key(pool), [(RECORD, record), (EXPIRES_AT, expires_at)])
}

/// It stays for ever while nothing ended.
pub(super) fn registrations_item(
    cluster: &ClusterName,
    pool: &NodePoolName,
    registrations: &Registrations,
) -> Item {
    let record = text(&wire::record::encode_registrations(registrations));
    let attributes = [(VERSION, number(registrations.version)), (RECORD, record)];
    let mut item = item(cluster, &registrations_key(pool), attributes);
    let expires_at = registrations.touched_at().map(|touched_at| {
        let expires_at = later(touched_at, REGISTRATIONS_KEPT);
        (EXPIRES_AT.to_owned(), number(seconds_rounded_up(expires_at)))
    });
    item.extend(expires_at);
    item
}

pub(super) fn validation_item(
    cluster: &ClusterName,
    class: &NodeClassName,
    validation: &Validation,
) -> Item {
    let expires_at = number(seconds_rounded_up(validation.kept_until()));
    let record = text(&wire::record::encode_validation(validation));
    item(cluster, &validation_key(class), [(RECORD, record), (EXPIRES_AT, expires_at)])
}

pub(super) fn seconds_rounded_up(at: Timestamp) -> i64 {
    at.as_second() + i64::from(at.subsec_nanosecond() > 0)
}

pub(super) fn claim_from_item(item: &Item) -> Result<NodeClaim, Unreadable> {
    let record = wire::record::decode_claim(&record_of(item)?);
    let claim = record.map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))?;
    // The table's conditions see the attributes, the code sees the record.
    let version: u64 = number_of(item, VERSION)?;
    if claim.version != version || text_of(item, PHASE)? != claim.phase.code() {
        let problem = format!("`{RECORD}` disagrees with `{VERSION}` or `{PHASE}` beside it");
        return Err(unreadable(item, problem));
    }
    Ok(NodeClaim { retry: retry_from_item(item), ..claim })
}

/// Failures that cannot be read are none: the claim is visited at once.
fn retry_from_item(item: &Item) -> Option<model::claim::Retry> {
    let text = item.get(RETRY)?.as_s().ok()?;
    wire::record::decode_retry(text)
        .inspect_err(|error| tracing::warn!(%error, "failures of a claim count as none"))
        .ok()
}

pub(super) fn measured_from_item(item: &Item) -> Result<(MeasuredKey, Bytes), Unreadable> {
    let parts =
        text_of(item, ITEM)?.strip_prefix(MEASURED_PREFIX).and_then(|rest| rest.split_once('#'));
    let key = parts.and_then(|(instance_type, image)| {
        let instance_type = InstanceTypeName::new(instance_type).ok()?;
        Some(MeasuredKey { instance_type, image: ImageId::new(image).ok()? })
    });
    let unnamed = || unreadable(item, format!("`{ITEM}` names no instance type and image"));
    Ok((key.ok_or_else(unnamed)?, Bytes(number_of(item, MEMORY)?)))
}

pub(super) fn pulse_from_item(item: &Item) -> Result<Pulse, Unreadable> {
    let pulse = wire::record::decode_pulse(text_of(item, RECORD)?)
        .map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))?;
    if pulse.sequence != number_of::<u64>(item, SEQUENCE)? {
        return Err(unreadable(item, format!("`{RECORD}` disagrees with `{SEQUENCE}` beside it")));
    }
    Ok(pulse)
}

pub(super) fn command_from_item(item: &Item) -> Result<(CommandId, Command), Unreadable> {
    let id = named(item, COMMAND_PREFIX, CommandId::new)?;
    let command = wire::record::decode_command(text_of(item, RECORD)?)
        .map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))?;
    Ok((id, command))
}

pub(super) fn registrations_from_item(
    item: &Item,
) -> Result<(NodePoolName, Registrations), Unreadable> {
    let pool = named(item, REGISTRATIONS_PREFIX, NodePoolName::new)?;
    let registrations = wire::record::decode_registrations(text_of(item, RECORD)?);
    let registrations =
        registrations.map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))?;
    if registrations.version != number_of::<u64>(item, VERSION)? {
        return Err(unreadable(item, format!("`{RECORD}` disagrees with `{VERSION}` beside it")));
    }
    Ok((pool, registrations))
}

pub(super) fn refusals_from_item(
    item: &Item,
) -> Result<(NodePoolName, LaunchRefusals), Unreadable> {
    let pool = named(item, REFUSALS_PREFIX, NodePoolName::new)?;
    let refusals = wire::record::decode_refusals(text_of(item, RECORD)?)
        .map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))?;
    Ok((pool, refusals))
}

/// What the sort key of `item` names after `prefix`.
fn named<T>(
    item: &Item,
    prefix: &str,
    read: impl Fn(&str) -> Result<T, model::id::InvalidId>,
) -> Result<T, Unreadable> {
    let name = text_of(item, ITEM)?.strip_prefix(prefix).unwrap_or_default();
    read(name).map_err(|error| unreadable(item, format!("`{ITEM}`: {error}")))
}

pub(super) fn validation_from_item(item: &Item) -> Result<Validation, Unreadable> {
    let validation = wire::record::decode_validation(text_of(item, RECORD)?);
    validation.map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))
}

/// Refuses an item that DynamoDB would refuse, with its name.
pub(super) fn check_size(item: &Item) -> Result<(), PortError> {
    let bytes: usize = item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum();
    if bytes <= ITEM_BYTES_MAX {
        return Ok(());
    }
    let name = item.get(ITEM).and_then(|name| name.as_s().ok()).map_or("", String::as_str);
    let problem = format!("item `{name}` has {bytes} bytes, and {ITEM_BYTES_MAX} are allowed");
    Err(BadRequest::of("write the ledger", problem))
}

/// A little more than what DynamoDB counts for a number, exactly what it counts for a text.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text.len(),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        _ => 0,
    }
}

pub(super) fn text_of<'a>(item: &'a Item, name: &str) -> Result<&'a str, Unreadable> {
    let value = item.get(name).and_then(|value| value.as_s().ok());
    value.map(String::as_str).ok_or_else(|| unreadable(item, format!("`{name}` must be a text")))
}

/// A record in either form.
pub(super) fn record_of(item: &Item) -> Result<Cow<'_, str>, Unreadable> {
    let Some(Ok(packed)) = item.get(RECORD).map(AttributeValue::as_b) else {
        return text_of(item, RECORD).map(Cow::Borrowed);
    };
    let text = wire::packed::unpack(packed.as_ref());
    text.map(Cow::Owned).map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))
}

pub(super) fn number_of<T: std::str::FromStr>(item: &Item, name: &str) -> Result<T, Unreadable> {
    let value =
        item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
    value.ok_or_else(|| unreadable(item, format!("`{name}` must be a whole number")))
}

pub(super) fn unreadable(item: &Item, problem: String) -> Unreadable {
    let part = |name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default()
    };
    Unreadable { cluster: part(CLUSTER), item: part(ITEM), problem }
}

impl Unreadable {
    /// The same as a part of a snapshot, with the instance that `item` names.
    pub(super) fn of_snapshot(self, item: &Item) -> UnreadableItem {
        let instance = item
            .get(INSTANCE_ID)
            .and_then(|value| value.as_s().ok())
            .and_then(|id| InstanceId::new(id).ok());
        let claim =
            self.item.strip_prefix(CLAIM_PREFIX).and_then(|name| NodeClaimName::new(name).ok());
        UnreadableItem { item: self.item, claim, instance, problem: self.problem }
    }
}
