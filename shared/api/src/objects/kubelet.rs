//! `kubelet` of an EC2NodeClass: twelve members that count here, and the others of
//! KubeletConfiguration, which only the node looks at.
//!
//! Expressions are kept as texts. What they are is not looked at before the gate `NodeClassCEL` is open.
//!
//! Karpenter: `pkg/controllers/nodeclass/validation.go` of the AWS provider after 1.14.1.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    ResourceName, duration,
    node_class::{ImageFamily, Kubelet, KubeletFault, MaxPods},
    problem::Weight,
    quantity::Quantity,
};

use crate::{
    document::{field::Field, tree::TreeValue},
    karpenter::node_class::is_interpreted,
};

mod schema;

const SIGNALS: [&str; 6] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
];

const RESERVABLE: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pid"];

const WHOLE_MAX: i64 = i32::MAX as i64;

/// Reads the block of a class of `family`. What is wrong is complained about and left out; what
/// Karpenter would say of it is the [`KubeletFault`].
pub(crate) fn read(field: &Field<'_>, family: ImageFamily) -> Kubelet {
    // The definition only asks for a map: Karpenter's controller looks at what is in it.
    let field = field.checked_later();
    let mut kubelet = interpreted(&field);
    schema::check(&field, &schema::CONFIGURATION);
    if let Some(taints) = given(&field, "registerWithTaints") {
        taints.complain("must not be given: taints are those of the NodePool");
    }
    // No type has it to count with, but its keys are signals.
    if let Some(reclaim) = given(&field, "evictionMinimumReclaim") {
        thresholds(&reclaim);
    }
    let others = field
        .entries()
        .unwrap_or_default()
        .into_iter()
        .filter(|(key, value)| !is_interpreted(key) && !value.tree().is_null());
    kubelet.passed_through =
        others.map(|(key, value)| (key.to_owned(), value.tree().to_json().to_string())).collect();
    kubelet.fault = fault(&field, family, &kubelet);
    kubelet
}

fn given<'a>(field: &Field<'a>, key: &str) -> Option<Field<'a>> {
    let mut entries = field.entries()?.into_iter().filter(|(_, value)| !value.tree().is_null());
    entries.find_map(|(text, value)| (text == key).then_some(value))
}

/// What stands against it: its structure first, then its image family.
fn fault(field: &Field<'_>, family: ImageFamily, kubelet: &Kubelet) -> Option<KubeletFault> {
    if field.has_within(Weight::Unusable) {
        return Some(KubeletFault::Invalid);
    }
    complain_of_family(field, family, kubelet);
    field.has_within(Weight::Unusable).then_some(KubeletFault::UnsupportedByFamily)
}

/// What nodes of the family cannot be told. A class of one's own images writes its own user data.
/// What release 1.14.1 takes of every family is taken: clusters run with it.
fn complain_of_family(field: &Field<'_>, family: ImageFamily, kubelet: &Kubelet) {
    if matches!(family, ImageFamily::Al2023 | ImageFamily::Custom) {
        return;
    }
    let family = family.as_str();
    for key in kubelet.passed_through.keys() {
        field
            .at(key)
            .complain(format!("nodes of the family {family} cannot be told: only AL2023 can"));
    }
}

/// The members that count here.
fn interpreted(field: &Field<'_>) -> Kubelet {
    let mut kubelet = Kubelet::default();
    let Some(mut fields) = field.fields() else { return kubelet };
    let number = |field: Option<Field<'_>>, most: i64| field.and_then(|f| f.integer(0, most));
    if let Some(texts) = fields.get("clusterDNS").and_then(|f| f.texts()) {
        kubelet.cluster_dns = texts.into_iter().map(ToOwned::to_owned).collect();
    }
    kubelet.max_pods = fields.get("maxPods").and_then(|field| match &field.tree().value {
        TreeValue::Text(text) => Some(MaxPods::Expression(text.clone())),
        _ => field.integer(0, WHOLE_MAX).map(MaxPods::Number),
    });
    kubelet.pods_per_core = number(fields.get("podsPerCore"), WHOLE_MAX);
    kubelet.eviction_max_pod_grace_period =
        number(fields.get("evictionMaxPodGracePeriod"), WHOLE_MAX);
    kubelet.system_reserved =
        fields.get("systemReserved").map(|f| reserved(&f)).unwrap_or_default();
    kubelet.kube_reserved = fields.get("kubeReserved").map(|f| reserved(&f)).unwrap_or_default();
    kubelet.eviction_hard = fields.get("evictionHard").map(|f| thresholds(&f)).unwrap_or_default();
    let soft = fields.get("evictionSoft");
    kubelet.eviction_soft = soft.as_ref().map(thresholds).unwrap_or_default();
    let periods = fields.get("evictionSoftGracePeriod");
    kubelet.eviction_soft_grace_period = periods.as_ref().map(grace_periods).unwrap_or_default();
    if let Some(place) = soft.or(periods)
        && !kubelet.eviction_soft.keys().eq(kubelet.eviction_soft_grace_period.keys())
    {
        place.complain("evictionSoft and evictionSoftGracePeriod must have the same keys");
    }
    kubelet.image_gc_high_threshold_percent =
        number(fields.get("imageGCHighThresholdPercent"), 100);
    let low = fields.get("imageGCLowThresholdPercent");
    kubelet.image_gc_low_threshold_percent = number(low.clone(), 100);
    if let (Some(high), Some(low), Some(place)) =
        (kubelet.image_gc_high_threshold_percent, kubelet.image_gc_low_threshold_percent, low)
        && high <= low
    {
        place.complain("must be below imageGCHighThresholdPercent");
    }
    kubelet.cpu_cfs_quota = fields.get("cpuCFSQuota").and_then(|f| f.boolean());
    kubelet
}

fn reserved(field: &Field<'_>) -> BTreeMap<ResourceName, String> {
    let mut amounts = BTreeMap::new();
    for (key, value) in field.entries().unwrap_or_default() {
        if !RESERVABLE.contains(&key) {
            value
                .complain(format!("unknown resource: it must be one of {}", RESERVABLE.join(", ")));
            continue;
        }
        let Some(text) = value.text() else { continue };
        if text.starts_with('-') {
            value.complain(format!("must not be negative, as `{text}` is"));
        } else if let Ok(name) = ResourceName::new(key) {
            amounts.insert(name, text.to_owned());
        }
    }
    amounts
}

fn is_signal(key: &str, value: &Field<'_>) -> bool {
    let is_known = SIGNALS.contains(&key);
    if !is_known {
        value.complain(format!("unknown signal: it must be one of {}", SIGNALS.join(", ")));
    }
    is_known
}

/// Signals with a quantity or a percentage.
fn thresholds(field: &Field<'_>) -> BTreeMap<String, String> {
    let mut signals = BTreeMap::new();
    for (key, value) in field.entries().unwrap_or_default() {
        if !is_signal(key, &value) {
            continue;
        }
        let Some(text) = value.text() else { continue };
        let is_valid = match text.strip_suffix('%') {
            // A percentage is a decimal number; as thousandths it is exact enough to compare.
            Some(percent) => Quantity::parse_unsigned(percent)
                .is_ok_and(|q| q <= Quantity::from_units(100) && is_decimal(percent)),
            None => Quantity::parse_unsigned(text).is_ok(),
        };
        if is_valid {
            signals.insert(key.to_owned(), text.to_owned());
        } else {
            value.complain(format!(
                "`{text}` is neither a quantity such as `100Mi` nor a percentage from 0% to 100%"
            ));
        }
    }
    signals
}

fn is_decimal(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn grace_periods(field: &Field<'_>) -> BTreeMap<String, SignedDuration> {
    let mut durations = BTreeMap::new();
    for (key, value) in field.entries().unwrap_or_default() {
        if !is_signal(key, &value) {
            continue;
        }
        let Some(period) = value.parsed(duration::parse_go) else { continue };
        if period.is_negative() {
            value.complain("must not be negative");
        } else {
            durations.insert(key.to_owned(), period);
        }
    }
    durations
}
