//! Which calls each function makes of its ports.
//!
//! A function's role must allow these and nothing else. The list is held to the code from both sides:
//! `dispatch` gives each handler ports on which no other call compiles ([`ports::Only`]), whatever file it
//! stands in, and a test plays until each call of the list was made. What the adapters need for a call is said
//! in `ports::rights`.

use model::Function;

/// The calls that `function` makes, as port and method, such as `Ledger.commit`; sorted.
pub const fn calls(function: Function) -> &'static [&'static str] {
    match function {
        Function::Provision => PROVISION,
        Function::Interrupt => INTERRUPT,
        Function::Disrupt => DISRUPT,
        Function::Launch => LAUNCH,
        Function::Settle => SETTLE,
        Function::Drain => DRAIN,
        Function::Resolve => RESOLVE,
        Function::Sweep => SWEEP,
        Function::Catalog => CATALOG,
        Function::Wake => WAKE,
    }
}

const PROVISION: &[&str] = &[
    "AlphaStatuses.update_buffer_status",
    "Catalog.catalog",
    "Cluster.daemon_sets",
    "Cluster.devices",
    "Cluster.node_classes",
    "Cluster.node_pools",
    "Cluster.nodes",
    "Cluster.pod_selectors",
    "Cluster.pods",
    "Cluster.surroundings",
    "Discovery.cluster_settings",
    "Discovery.reservations",
    "Events.publish",
    "Ledger.commit",
    "Ledger.head",
    "Ledger.pulse",
    "Ledger.put_decisions",
    "Ledger.put_facts",
    "Ledger.snapshot",
    "Ledger.write_pulse",
    "Mailbox.send",
    "NodePools.observed_pools",
    "NodePools.update_wake_condition",
];
const INTERRUPT: &[&str] = &[
    "Ledger.claims_of_instances",
    "Ledger.commit",
    "Ledger.head",
    "Ledger.put_facts",
    "Mailbox.send",
];
const DISRUPT: &[&str] = &[
    "Catalog.catalog",
    "Cluster.daemon_sets",
    "Cluster.devices",
    "Cluster.node_classes",
    "Cluster.node_pools",
    "Cluster.nodes",
    "Cluster.pod_selectors",
    "Cluster.pods",
    "Cluster.surroundings",
    "Discovery.cluster_settings",
    "Discovery.reservations",
    "Events.publish",
    "Ledger.commit",
    "Ledger.head",
    "Ledger.pulse",
    "Ledger.put_decisions",
    "Ledger.put_facts",
    "Ledger.snapshot",
    "Ledger.write_pulse",
    "Mailbox.send",
    "NodeClaims.synced",
    "Nodes.set_deletion_cost",
];
const LAUNCH: &[&str] = &[
    "Catalog.catalog",
    "Cluster.node_classes",
    "Cluster.node_overlays",
    "Cluster.node_pools",
    "Discovery.cluster_settings",
    "Discovery.free_addresses",
    "Discovery.reservations",
    "Events.publish",
    "Fleet.dry_run",
    "Fleet.dry_run_instance",
    "Fleet.launch",
    "Fleet.of_batch",
    "Ledger.head",
    "Ledger.mark_unavailable",
    "Ledger.pulse",
    "Ledger.put_decisions",
    "Ledger.put_refusals",
    "Ledger.put_registrations",
    "Ledger.put_validation",
    "Ledger.registrations",
    "Ledger.snapshot",
    "Ledger.withdraw_claims",
    "Ledger.write_claims",
    "Ledger.write_pulse",
    "Mailbox.send",
    "Templates.dry_run",
    "Templates.ensure",
];
const SETTLE: &[&str] = &[
    "Events.publish",
    "Fleet.describe",
    "Fleet.tag",
    "Forensics.access",
    "Forensics.checks",
    "Forensics.console",
    "Forensics.image",
    "Forensics.instance",
    "Forensics.network",
    "Ledger.commit",
    "Ledger.head",
    "Ledger.measure",
    "Ledger.pulse",
    "Ledger.put_refusals",
    "Ledger.put_registrations",
    "Ledger.registrations",
    "Ledger.snapshot",
    "Ledger.write_claim",
    "Ledger.write_pulse",
    "Mailbox.send",
    "NodeClaims.remove",
    "NodeClaims.sync",
    "Nodes.node",
    "Nodes.patch",
    "Nodes.resource_slices",
    "Nodes.uninitialized",
];
const DRAIN: &[&str] = &[
    "Cluster.nodes",
    "Cluster.pods",
    "Cluster.volume_attachments",
    "Cluster.volume_claim",
    "Events.publish",
    "Fleet.describe",
    "Fleet.reboot",
    "Fleet.terminate",
    "Ledger.head",
    "Ledger.pulse",
    "Ledger.put_refusals",
    "Ledger.remove_claim",
    "Ledger.snapshot",
    "Ledger.write_claim",
    "Ledger.write_pulse",
    "Mailbox.send",
    "NodeClaims.remove",
    "NodeClaims.sync",
    "Nodes.delete",
    "Nodes.evict",
    "Nodes.node",
    "Nodes.patch",
    "Nodes.pods_on",
    "Nodes.uninitialized",
];
const RESOLVE: &[&str] = &[
    "AlphaStatuses.observed_overlays",
    "AlphaStatuses.update_overlay_status",
    "Catalog.catalog",
    "Discovery.cluster_settings",
    "Discovery.images",
    "Discovery.launch_template",
    "Discovery.placement_group",
    "Discovery.reservations",
    "Discovery.security_groups",
    "Discovery.subnets",
    "Ledger.head",
    "Ledger.put_registrations",
    "Ledger.registrations",
    "Ledger.snapshot",
    "Ledger.validation",
    "Mailbox.send",
    "NodeClasses.observed_classes",
    "NodeClasses.update_class_status",
    "NodePools.observed_pools",
    "NodePools.probe_wake",
    "NodePools.update_pool_status",
    "Profiles.ensure",
];
const SWEEP: &[&str] = &[
    "Catalog.catalog",
    "Cluster.node_classes",
    "Cluster.node_pools",
    "Cluster.nodes",
    "Discovery.cluster_settings",
    "Discovery.zonal_shifts",
    "Events.publish",
    "Fleet.describe",
    "Fleet.impaired",
    "Fleet.list",
    "Fleet.terminate",
    "Leases.hold",
    "Leases.leases",
    "Ledger.commit",
    "Ledger.head",
    "Ledger.open",
    "Ledger.put_guard",
    "Ledger.put_shifted_zones",
    "Ledger.snapshot",
    "Ledger.write_claim",
    "Mailbox.send",
    "NodeClaims.objects",
    "NodeClaims.remove",
    "NodeClaims.sync",
    "NodeClaims.synced",
    "NodeClaims.take_over",
    "Nodes.node",
    "Nodes.patch",
    "Profiles.list",
    "Profiles.remove",
    "Templates.list",
    "Templates.remove",
    "Webhooks.of_wake",
    "Webhooks.set_urls",
];
const CATALOG: &[&str] = &[
    "CatalogStore.put",
    "CatalogStore.stored",
    "Market.instance_types",
    "Market.offered",
    "Market.on_demand",
    "Market.spot",
    "Market.zones",
];
const WAKE: &[&str] = &["Mailbox.call", "Mailbox.send"];

/// The functions that `function` sends messages to, or calls if they have no queue; sorted. What is sent to another one
/// does not arrive, in a simulated world either.
pub const fn receivers(function: Function) -> &'static [Function] {
    match function {
        Function::Provision => &[Function::Provision, Function::Launch, Function::Settle],
        Function::Interrupt => &[Function::Provision, Function::Drain],
        Function::Disrupt => &[
            Function::Provision,
            Function::Disrupt,
            Function::Launch,
            Function::Settle,
            Function::Drain,
        ],
        Function::Launch => &[Function::Launch, Function::Settle],
        Function::Settle => &[Function::Provision, Function::Settle, Function::Drain],
        Function::Sweep => {
            &[Function::Provision, Function::Launch, Function::Settle, Function::Drain]
        }
        Function::Drain => &[Function::Drain],
        Function::Resolve => &[Function::Launch],
        Function::Catalog => &[],
        Function::Wake => {
            &[Function::Provision, Function::Disrupt, Function::Resolve, Function::Sweep]
        }
    }
}

#[cfg(test)]
mod tests {
    use ports::PORTS;

    use super::*;

    #[test]
    fn calls_are_sorted_and_are_calls_of_ports() {
        let ports = PORTS.concat();
        let declared: Vec<&str> = ports.iter().flat_map(|port| port.calls).copied().collect();
        for function in Function::ALL {
            assert!(calls(function).is_sorted(), "{function}");
            assert!(receivers(function).is_sorted(), "{function}");
            let sends = calls(function).contains(&"Mailbox.send");
            assert_eq!(sends, !receivers(function).is_empty(), "{function}");
            assert!(calls(function).iter().all(|call| declared.contains(call)), "{function}");
        }
    }
}
