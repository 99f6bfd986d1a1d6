//! `docs/metrics.md` has every metric, and an answer to each of Karpenter's that is not measured.

use std::collections::BTreeSet;

use expect_test::expect_file;
use handlers::METRICS;
use tests::pages;

use crate::functions::read;

/// The metrics of Karpenter 1.15 without the prefix `karpenter_`.
///
/// Karpenter: <https://karpenter.sh/docs/reference/metrics/>, and the `metrics.go` of each controller.
const KARPENTER: [&str; 79] = [
    "build_info",
    "cloudprovider_batcher_batch_size",
    "cloudprovider_batcher_batch_time_seconds",
    "cloudprovider_duration_seconds",
    "cloudprovider_errors_total",
    "cloudprovider_instance_launch_failures_total",
    "cloudprovider_instance_termination_failures_total",
    "cloudprovider_instance_type_cpu_cores",
    "cloudprovider_instance_type_memory_bytes",
    "cloudprovider_instance_type_offering_available",
    "cloudprovider_instance_type_offering_price_estimate",
    "cluster_state_node_count",
    "cluster_state_synced",
    "cluster_state_unsynced_time_seconds",
    "cluster_utilization_percent",
    "consolidation_moves_total",
    "consolidation_score",
    "ec2nodeclasses_userdata_bytes",
    "interruption_deleted_messages_total",
    "interruption_instance_status_unhealthy_total",
    "interruption_message_queue_duration_seconds",
    "interruption_received_messages_total",
    "nodeclaims_created_total",
    "nodeclaims_disrupted_total",
    "nodeclaims_instance_termination_duration_seconds",
    "nodeclaims_terminated_total",
    "nodeclaims_termination_duration_seconds",
    "nodeclaims_unhealthy_disrupted_total",
    "nodepools_allowed_disruptions",
    "nodepools_cost_total",
    "nodepools_cost_tracker_errors_total",
    "nodepools_limit",
    "nodepools_nodes_consuming_budgets",
    "nodepools_usage",
    "nodes_allocatable",
    "nodes_created_total",
    "nodes_current_lifetime_seconds",
    "nodes_drained_total",
    "nodes_lifetime_duration_seconds",
    "nodes_reboot_duration_seconds",
    "nodes_reboot_recovery_duration_seconds",
    "nodes_reboots_total",
    "nodes_system_overhead",
    "nodes_terminated_total",
    "nodes_termination_duration_seconds",
    "nodes_total_daemon_limits",
    "nodes_total_daemon_requests",
    "nodes_total_pod_limits",
    "nodes_total_pod_requests",
    "pod_deletion_cost_nodes_with_pending_annotation_writes",
    "pod_deletion_cost_pod_annotation_writes_total",
    "pods_bound_duration_seconds",
    "pods_disruption_initiated_total",
    "pods_drained_total",
    "pods_eviction_requests_total",
    "pods_provisioning_bound_duration_seconds",
    "pods_provisioning_scheduling_undecided_time_seconds",
    "pods_provisioning_startup_duration_seconds",
    "pods_provisioning_unbound_time_seconds",
    "pods_provisioning_unstarted_time_seconds",
    "pods_scheduling_decision_duration_seconds",
    "pods_startup_duration_seconds",
    "pods_state",
    "pods_unbound_time_seconds",
    "pods_unstarted_time_seconds",
    "scheduler_ignored_pods_count",
    "scheduler_pending_pods_by_effective_zone_count",
    "scheduler_queue_depth",
    "scheduler_scheduling_duration_seconds",
    "scheduler_unfinished_work_seconds",
    "scheduler_unschedulable_pods_count",
    "voluntary_disruption_consolidation_timeouts_total",
    "voluntary_disruption_decision_evaluation_duration_seconds",
    "voluntary_disruption_decisions_by_nodepool_total",
    "voluntary_disruption_decisions_total",
    "voluntary_disruption_eligible_nodes",
    "voluntary_disruption_failed_validations_total",
    "voluntary_disruption_queue_failures_total",
    "voluntary_disruption_terminate_first_decisions_total",
];

fn karpenter() -> BTreeSet<String> {
    KARPENTER.iter().map(|name| format!("karpenter_{name}")).collect()
}

/// What Karpenter has nothing to measure by.
const OURS: [&str; 2] = ["journeyman_rollouts_halted_total", "journeyman_wake_healthy"];

#[test]
fn every_metric_has_karpenters_name_unless_karpenter_has_no_such_thing() {
    let known = karpenter();
    assert_eq!(known.len(), KARPENTER.len());
    let others = METRICS.iter().map(|metric| metric.name).filter(|name| !known.contains(*name));
    assert_eq!(others.collect::<Vec<_>>(), OURS);
}

/// Whether `name` is of the family `pattern`, in which `*` stands for any letters.
fn is_of(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

#[test]
fn every_metric_of_karpenter_is_there_or_answered() {
    let page = read("docs/metrics.md");
    let (_, answers) = page.split_once("\n## What Karpenter measures").expect("answers");
    let rows = answers.lines().filter(|line| line.starts_with("| `"));
    let names = rows.filter_map(|row| row.split(" | ").next());
    let names = names.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let answered: Vec<&str> = names.filter(|name| name.starts_with("karpenter_")).collect();
    let measured: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let known = karpenter();
    for name in &known {
        let answers = answered.iter().filter(|pattern| is_of(name, pattern)).count();
        let is_measured = measured.contains(name.as_str());
        assert_eq!(answers + usize::from(is_measured), 1, "{name}: there, or answered once");
    }
    for pattern in answered {
        assert!(known.iter().any(|name| is_of(name, pattern)), "{pattern} is none of Karpenter's");
    }
}

#[test]
fn the_page_says_what_is_measured() {
    let rows = METRICS.iter().map(|metric| {
        let mark = if metric.is_declared { "**" } else { "" };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        let kind = metric.kind.as_str();
        format!("| {mark}`{}`{mark} | {kind} | {labels} | {} |\n", metric.name, metric.meaning)
    });
    let rows: String = rows.collect();
    let table = format!("| metric | kind | labels | meaning |\n|---|---|---|---|\n{rows}");
    let page = read("docs/metrics.md");
    expect_file!["../../../docs/metrics.md"]
        .assert_eq(&pages::with_table(&page, "metrics", &table));
}
