//! The settings themselves, in the order of the page.

use std::ops::RangeInclusive;

use api::objects::scheduler_config;
use jiff::SignedDuration;
use launch_template::Share;
use model::{
    HOURS_PER_MONTH, HourlyPrice, duration,
    interruption::RebalanceRecommendations,
    policies::{ConsolidationSearch, MinValuesPolicy, Packing, PreferencePolicy},
};

use super::{Allowed, MetricDimensions, Record, Setting, Settings};
use crate::DryRuns;

const SWITCH: Allowed = Allowed::OneOf(&["true", "false"]);
const POLL_SECONDS: RangeInclusive<u32> = 1..=60;
/// With a minute until the next probe, a `wake` that is not called any more is noticed within three.
const WAKE_REST_SECONDS: RangeInclusive<u32> = 5..=120;
/// A pass of `provision` has a minute.
const BATCH_SECONDS: RangeInclusive<u32> = 0..=30;
/// A day of rest is long enough for anybody.
const REST_SECONDS: RangeInclusive<u32> = 0..=86_400;
/// More pods than a cluster has.
const MOVES: RangeInclusive<u32> = 0..=1_000_000;
/// No instance has more.
const INTERFACES: RangeInclusive<u32> = 0..=64;

/// All of them, in the order of the page.
pub const SETTINGS: [Setting; 27] = [
    Setting {
        parameter: "FeatureGates",
        variable: "JOURNEYMAN_FEATURE_GATES",
        karpenter: Some("FEATURE_GATES"),
        default: "",
        allowed: Allowed::Gates,
        meaning: "Opens and closes feature gates. Gates that are not listed have their defaults.",
        set: gates_of,
    },
    Setting {
        parameter: "PreferencePolicy",
        variable: "JOURNEYMAN_PREFERENCE_POLICY",
        karpenter: Some("PREFERENCE_POLICY"),
        default: "Respect",
        allowed: Allowed::OneOf(&["Respect", "Ignore"]),
        meaning: "`Respect` drops a pod's preferences one by one only if no node can be launched with \
                  them. `Ignore` ignores preferences.",
        set: |settings, text| {
            let policy = match text {
                "Respect" => Some(PreferencePolicy::Respect),
                "Ignore" => Some(PreferencePolicy::Ignore),
                _ => None,
            };
            put(&mut settings.policies.preferences, policy)
        },
    },
    Setting {
        parameter: "MinValuesPolicy",
        variable: "JOURNEYMAN_MIN_VALUES_POLICY",
        karpenter: Some("MIN_VALUES_POLICY"),
        default: "Strict",
        allowed: Allowed::OneOf(&["Strict", "BestEffort"]),
        meaning: "`Strict` keeps `minValues` of NodePools. `BestEffort` lowers them to the values that \
                  exist, and marks the NodeClaim.",
        set: |settings, text| {
            let policy = match text {
                "Strict" => Some(MinValuesPolicy::Strict),
                "BestEffort" => Some(MinValuesPolicy::BestEffort),
                _ => None,
            };
            put(&mut settings.policies.min_values, policy)
        },
    },
    Setting {
        parameter: "IgnoreDraRequests",
        variable: "JOURNEYMAN_IGNORE_DRA_REQUESTS",
        karpenter: Some("IGNORE_DRA_REQUESTS"),
        default: "true",
        allowed: SWITCH,
        meaning: "`true`: pods with ResourceClaims stay pending, and are reported. `false`: they \
                  are scheduled with their devices. The gates `DRANVIDIAGPU` and `DRAEFA` imply `false`.",
        set: |settings, text| {
            let is_ignored: Option<bool> = text.parse().ok();
            put(&mut settings.policies.heeds_dra_requests, is_ignored.map(|is_ignored| !is_ignored))
        },
    },
    Setting {
        parameter: "SchedulerConfig",
        variable: "JOURNEYMAN_SCHEDULER_CONFIG",
        karpenter: Some("SCHEDULER_CONFIG"),
        default: "",
        allowed: Allowed::SchedulerConfig,
        meaning: "Topology spread constraints for pods that have none, as a profile of kube-scheduler \
                  defines them. Set the same ones in kube-scheduler. Services and controllers decide \
                  which pods count together.",
        set: |settings, text| put(&mut settings.default_spread, scheduler_config::read(text).ok()),
    },
    Setting {
        parameter: "BatchMaxDuration",
        variable: "JOURNEYMAN_BATCH_MAX_DURATION",
        karpenter: Some("BATCH_MAX_DURATION"),
        default: "10s",
        allowed: Allowed::Duration(*BATCH_SECONDS.start(), *BATCH_SECONDS.end()),
        meaning: "Longest time for which `provision` gathers pending pods before it plans.",
        set: |settings, text| put(&mut settings.batch.max, batch_duration(text)),
    },
    Setting {
        parameter: "BatchIdleDuration",
        variable: "JOURNEYMAN_BATCH_IDLE_DURATION",
        karpenter: Some("BATCH_IDLE_DURATION"),
        default: "1s",
        allowed: Allowed::Duration(*BATCH_SECONDS.start(), *BATCH_SECONDS.end()),
        meaning: "`provision` plans when no pod has arrived for this time.",
        set: |settings, text| put(&mut settings.batch.idle, batch_duration(text)),
    },
    Setting {
        parameter: "VmMemoryOverheadPercent",
        variable: "JOURNEYMAN_VM_MEMORY_OVERHEAD_PERCENT",
        karpenter: Some("VM_MEMORY_OVERHEAD_PERCENT"),
        default: "0.075",
        allowed: Allowed::Share,
        meaning: "Share of an instance's memory reserved for firmware and kernel, until a node of its \
                  type and image has joined.",
        set: |settings, text| {
            let share = Share::parse(text).filter(|share| share.is_at_most_all());
            put(&mut settings.nodes.memory_overhead, share)
        },
    },
    Setting {
        parameter: "ReservedEnis",
        variable: "JOURNEYMAN_RESERVED_ENIS",
        karpenter: Some("RESERVED_ENIS"),
        default: "0",
        allowed: Allowed::Whole(*INTERFACES.start(), *INTERFACES.end()),
        meaning: "Network interfaces per node that pods do not use. They lower the number of pods per \
                  node.",
        set: |settings, text| put(&mut settings.nodes.reserved_enis, whole(text, &INTERFACES)),
    },
    Setting {
        parameter: "IsolatedVpc",
        variable: "JOURNEYMAN_ISOLATED_VPC",
        karpenter: Some("ISOLATED_VPC"),
        default: "false",
        allowed: SWITCH,
        meaning: "For functions in a VPC without internet access: use built-in on-demand prices, \
                  because the pricing API has no VPC endpoint.",
        set: |settings, text| put(&mut settings.is_isolated, text.parse().ok()),
    },
    Setting {
        parameter: "DisableDryRun",
        variable: "JOURNEYMAN_DISABLE_DRY_RUN",
        karpenter: Some("DISABLE_DRY_RUN"),
        default: "false",
        allowed: SWITCH,
        meaning: "EC2NodeClasses become ready without a dry run of a launch.",
        set: |settings, text| {
            let is_disabled: Option<bool> = text.parse().ok();
            let of = |is_disabled| if is_disabled { DryRuns::Disabled } else { DryRuns::Enabled };
            put(&mut settings.dry_runs, is_disabled.map(of))
        },
    },
    Setting {
        parameter: "EnableZonalShift",
        variable: "JOURNEYMAN_ENABLE_ZONAL_SHIFT",
        karpenter: Some("ENABLE_ZONAL_SHIFT"),
        default: "false",
        allowed: SWITCH,
        meaning: "Launch nothing in a zone while cluster traffic is shifted away from it, checked each \
                  minute. Zonal shift must be enabled for the cluster.",
        set: |settings, text| put(&mut settings.heeds_zonal_shifts, text.parse().ok()),
    },
    Setting {
        parameter: "RebalanceRecommendations",
        variable: "JOURNEYMAN_REBALANCE_RECOMMENDATIONS",
        karpenter: None,
        default: "ignore",
        allowed: Allowed::OneOf(&["ignore", "replace-first"]),
        meaning: "EC2's recommendations to leave a spot instance. `ignore`: do nothing, as Karpenter. \
                  `replace-first`: the node counts as drifted, and is replaced within budgets.",
        set: |settings, text| {
            let said = match text {
                "ignore" => Some(RebalanceRecommendations::Ignore),
                "replace-first" => Some(RebalanceRecommendations::ReplaceFirst),
                _ => None,
            };
            put(&mut settings.rebalance_recommendations, said)
        },
    },
    Setting {
        parameter: "AutoscalerAnnotations",
        variable: "JOURNEYMAN_AUTOSCALER_ANNOTATIONS",
        karpenter: None,
        default: "ignore",
        allowed: Allowed::OneOf(&["ignore", "honor"]),
        meaning: "`honor`: the annotations of Cluster Autoscaler `safe-to-evict: \"false\"` on pods and \
                  `scale-down-disabled: \"true\"` on nodes count as \
                  `karpenter.sh/do-not-disrupt: \"true\"`. `ignore`: they do nothing, as in Karpenter.",
        set: |settings, text| {
            let honors = match text {
                "ignore" => Some(false),
                "honor" => Some(true),
                _ => None,
            };
            put(&mut settings.honors_autoscaler, honors)
        },
    },
    Setting {
        parameter: "PollIntervalSeconds",
        variable: "JOURNEYMAN_POLL_INTERVAL_SECONDS",
        karpenter: None,
        default: "5",
        allowed: Allowed::Whole(*POLL_SECONDS.start(), *POLL_SECONDS.end()),
        meaning: "Seconds between checks for pending pods. For ten minutes after a pod needed a node, \
                  the interval is one second.",
        set: |settings, text| put(&mut settings.poll_interval, seconds_within(text, &POLL_SECONDS)),
    },
    Setting {
        parameter: "WakeRestSeconds",
        variable: "JOURNEYMAN_WAKE_REST_SECONDS",
        karpenter: None,
        default: "60",
        allowed: Allowed::Whole(*WAKE_REST_SECONDS.start(), *WAKE_REST_SECONDS.end()),
        meaning: "Seconds between checks for pending pods while the API server calls `wake` and no pod \
                  is pending. Without `wake`, `PollIntervalSeconds` counts.",
        set: |settings, text| {
            put(&mut settings.wake_rest, seconds_within(text, &WAKE_REST_SECONDS))
        },
    },
    Setting {
        parameter: "Consolidation",
        variable: "JOURNEYMAN_CONSOLIDATION",
        karpenter: None,
        default: "karpenter",
        allowed: Allowed::OneOf(&["karpenter", "thorough"]),
        meaning: "`karpenter` searches as Karpenter does. `thorough` also checks each node alone, more \
                  sets of nodes, and several replacements at once, and never saves less than \
                  Karpenter's choice.",
        set: |settings, text| {
            let consolidation = match text {
                "karpenter" => Some(ConsolidationSearch::Karpenter),
                "thorough" => Some(ConsolidationSearch::Thorough),
                _ => None,
            };
            put(&mut settings.policies.consolidation, consolidation)
        },
    },
    Setting {
        parameter: "Packing",
        variable: "JOURNEYMAN_PACKING",
        karpenter: None,
        default: "karpenter",
        allowed: Allowed::OneOf(&["karpenter", "cheapest"]),
        meaning: "How pods share new nodes of NodePools without the annotation `journeyman/packing`. \
                  `cheapest` keeps the same rules and chooses the cheapest nodes, never dearer than \
                  Karpenter's choice for the same pods.",
        set: |settings, text| put(&mut settings.policies.packing, Packing::parse(text)),
    },
    Setting {
        parameter: "NodeCharge",
        variable: "JOURNEYMAN_NODE_CHARGE",
        karpenter: None,
        default: "0",
        allowed: Allowed::Dollars,
        meaning: "Virtual surcharge per node, in dollars an hour, when Journeyman compares fleets by \
                  price. Higher values favour fewer, larger nodes. AWS charges nothing for it, and \
                  price caps ignore it.",
        set: |settings, text| {
            put(&mut settings.policies.node_charge, HourlyPrice::parse_dollars(text).ok())
        },
    },
    Setting {
        parameter: "WorkloadRest",
        variable: "JOURNEYMAN_WORKLOAD_REST",
        karpenter: None,
        default: "0s",
        allowed: Allowed::Duration(*REST_SECONDS.start(), *REST_SECONDS.end()),
        meaning: "How long consolidation avoids a workload after moving one of its pods.",
        set: |settings, text| {
            let rest = duration_within(text, &REST_SECONDS);
            put(&mut settings.policies.calm.workload_rest, rest)
        },
    },
    Setting {
        parameter: "ReplacementSaving",
        variable: "JOURNEYMAN_REPLACEMENT_SAVING",
        karpenter: None,
        default: "0",
        allowed: Allowed::Share,
        meaning: "Least share of the old nodes' price that a replacement must save. Above `0`, a \
                  replacement also has another type or capacity type. Karpenter replaces for any \
                  saving.",
        set: |settings, text| {
            let share = Share::parse(text).filter(|share| share.is_at_most_all());
            put(&mut settings.policies.calm.saving_min_millionths, share.map(Share::millionths))
        },
    },
    Setting {
        parameter: "MoveSaving",
        variable: "JOURNEYMAN_MOVE_SAVING",
        karpenter: None,
        default: "0",
        allowed: Allowed::Dollars,
        meaning: "Least saving per moved pod, in dollars a month (730 hours), for consolidation. `0`: \
                  any saving is enough, as in Karpenter.",
        set: |settings, text| {
            let month = HourlyPrice::parse_dollars(text).ok();
            let hour = month.map(|price| HourlyPrice::from_parts(price.parts() / HOURS_PER_MONTH));
            put(&mut settings.policies.calm.saving_per_move_min, hour)
        },
    },
    Setting {
        parameter: "MovesPerHour",
        variable: "JOURNEYMAN_MOVES_PER_HOUR",
        karpenter: None,
        default: "0",
        allowed: Allowed::Whole(*MOVES.start(), *MOVES.end()),
        meaning: "Maximum pods that consolidation and drift evict per hour. `0`: no maximum, as in \
                  Karpenter. Interruption, expiration, repair and deletion do not wait.",
        set: |settings, text| {
            let most = whole(text, &MOVES);
            let of = |most: u32| (most > 0).then_some(u64::from(most));
            put(&mut settings.policies.calm.moves_per_hour_max, most.map(of))
        },
    },
    Setting {
        parameter: "Metrics",
        variable: "JOURNEYMAN_METRICS",
        karpenter: None,
        default: "cluster",
        allowed: Allowed::OneOf(&["cluster", "nodepool", "none"]),
        meaning: "Which metrics go to CloudWatch, which charges for each. `cluster`: four for the \
                  cluster. `nodepool`: all, for the cluster and each NodePool. docs/metrics.md lists \
                  them and their cost.",
        set: |settings, text| {
            let dimensions = match text {
                "cluster" => MetricDimensions::Cluster,
                "nodepool" => MetricDimensions::NodePool,
                _ => MetricDimensions::None,
            };
            put(&mut settings.metrics, Some(dimensions))
        },
    },
    Setting {
        parameter: "MaxDollarsPerHour",
        variable: "JOURNEYMAN_MAX_DOLLARS_PER_HOUR",
        karpenter: None,
        default: "none",
        allowed: Allowed::DollarsOrNone,
        meaning: "Maximum price of all nodes of NodePools together, in dollars an hour. Journeyman \
                  launches nothing that might exceed it.",
        set: |settings, text| {
            let most = (text != "none").then(|| HourlyPrice::parse_dollars(text)).transpose();
            put(&mut settings.policies.dollars_per_hour_max, most.ok())
        },
    },
    Setting {
        parameter: "Record",
        variable: "JOURNEYMAN_RECORD",
        karpenter: None,
        default: "decisions",
        allowed: Allowed::OneOf(&["decisions", "facts"]),
        meaning: "What is kept of each decision for 90 days. `facts` adds the inputs of the decision, up \
                  to some hundred kilobytes, so that `journeyman replay` can repeat it.",
        set: |settings, text| {
            let record = match text {
                "decisions" => Some(Record::Decisions),
                "facts" => Some(Record::Facts),
                _ => None,
            };
            put(&mut settings.record, record)
        },
    },
    Setting {
        parameter: "KarpenterNamespaces",
        variable: "JOURNEYMAN_KARPENTER_NAMESPACES",
        karpenter: None,
        default: "kube-system,karpenter",
        allowed: Allowed::Namespaces,
        meaning: "Namespaces that Karpenter may run in. While its lease `karpenter-leader-election` is \
                  held in one of them, the functions pause. In other namespaces the lease is only \
                  logged.",
        set: |settings, text| {
            let is_name = |name: &&str| {
                let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                !name.is_empty() && name.chars().all(is_allowed)
            };
            let names: Option<_> =
                text.split(',').map(str::trim).map(|name| Some(name).filter(is_name)).collect();
            let names: Vec<&str> = names?;
            put(
                &mut settings.karpenter_namespaces,
                Some(names.into_iter().map(str::to_owned).collect()),
            )
        },
    },
];

fn put<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

fn gates_of(settings: &mut Settings, text: &str) -> Option<()> {
    let mut policies = settings.policies;
    policies.set_gates(text).ok()?;
    settings.nodes.reserved_capacity = policies.reserved_capacity;
    settings.policies = policies;
    Some(())
}

fn whole(text: &str, range: &RangeInclusive<u32>) -> Option<u32> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn seconds_within(text: &str, range: &RangeInclusive<u32>) -> Option<SignedDuration> {
    whole(text, range).map(|seconds| SignedDuration::from_secs(seconds.into()))
}

fn batch_duration(text: &str) -> Option<SignedDuration> {
    duration_within(text, &BATCH_SECONDS)
}

fn duration_within(text: &str, seconds: &RangeInclusive<u32>) -> Option<SignedDuration> {
    let bound = |seconds: &u32| SignedDuration::from_secs((*seconds).into());
    let range = bound(seconds.start())..=bound(seconds.end());
    duration::parse_go(text).ok().filter(|duration| range.contains(duration))
}
