//! What the launches from a class depend on of the class itself, as fields of a digest: named and
//! in a fixed order, so that it is the same in every build of the program.

use std::collections::BTreeMap;

use model::{
    duration::format_go,
    node_class::{
        Kubelet, MaxPods, NetworkInterface, NodeClass, NodeIdentity, PlacementGroupTerm,
        TemplateSource,
    },
};

use crate::{
    digest::Digest,
    template::{add_metadata_options, connections, volume},
};

/// Adds `class` without its selector terms, but for the placement group: what the others select is
/// digested by itself. Every field is named, so that a new one cannot be forgotten here.
pub(super) fn add(digest: &mut Digest, class: &NodeClass) {
    let NodeClass {
        name,
        subnet_terms: _,
        security_group_terms: _,
        image_terms: _,
        reservation_terms: _, // No dry run is of a reservation.
        placement_group,
        image_family,
        user_data,
        identity,
        tags,
        block_devices,
        is_raid0,
        metadata_options,
        detailed_monitoring,
        associate_public_ip_address,
        ip_prefix_count,
        network_interfaces,
        connection_tracking,
        nested_virtualization,
        enclaves,
        context,
        kubelet,
        gpu_sharing: _, // Nothing is launched with it.
        rollout: _,     // How nodes that drift are replaced.
        hash: _,        // Of fields that are all here.
        launch_template,
        is_deleting,
        problems,
    } = class;
    digest.field("class", name);
    add_placement_group(digest, placement_group.as_ref());
    digest.field("family", image_family.as_str());
    digest.optional("user data", user_data.as_ref());
    match identity {
        NodeIdentity::Role(role) => digest.field("role", role),
        NodeIdentity::InstanceProfile(profile) => digest.field("instance profile", profile),
    }
    texts(digest, "tag", tags);
    digest.field("block devices", block_devices.len());
    for device in block_devices {
        digest.field("root", device.is_root);
        volume(digest, device);
    }
    digest.field("raid0", is_raid0);
    add_metadata_options(digest, metadata_options);
    digest.optional("detailed monitoring", detailed_monitoring.as_ref());
    digest.optional("public address", associate_public_ip_address.as_ref());
    digest.optional("prefix count", ip_prefix_count.as_ref());
    let interfaces = network_interfaces.iter();
    digest.list(
        "interface",
        interfaces.map(|NetworkInterface { card, device, is_efa_only }| {
            format!("{card} {device} {is_efa_only}")
        }),
    );
    connections(digest, *connection_tracking);
    digest.optional("nested virtualization", nested_virtualization.as_ref());
    if *enclaves == Some(true) {
        digest.field("enclaves", true);
    }
    digest.optional("context", context.as_ref());
    add_kubelet(digest, kubelet);
    match launch_template {
        TemplateSource::Made => {}
        TemplateSource::Named(name) => digest.field("launch template", name),
    }
    digest.field("deleting", is_deleting);
    digest.list("problem", problems.iter());
}

fn add_placement_group(digest: &mut Digest, term: Option<&PlacementGroupTerm>) {
    match term {
        Some(PlacementGroupTerm::Id(id)) => digest.field("placement group id", id),
        Some(PlacementGroupTerm::Name(name)) => digest.field("placement group name", name),
        None => {}
    }
}

fn add_kubelet(digest: &mut Digest, kubelet: &Kubelet) {
    let Kubelet {
        cluster_dns,
        max_pods,
        pods_per_core,
        system_reserved,
        kube_reserved,
        eviction_hard,
        eviction_soft,
        eviction_soft_grace_period,
        eviction_max_pod_grace_period,
        image_gc_high_threshold_percent,
        image_gc_low_threshold_percent,
        cpu_cfs_quota,
        passed_through,
        fault: _, // The problems say it field by field.
    } = kubelet;
    digest.list("cluster dns", cluster_dns.iter());
    match max_pods {
        Some(MaxPods::Expression(text)) => digest.field("max pods expression", text),
        Some(MaxPods::Number(number)) => digest.optional("max pods", Some(*number)),
        None => digest.optional("max pods", None::<u32>),
    }
    digest.optional("pods per core", *pods_per_core);
    texts(digest, "system reserved", system_reserved);
    texts(digest, "kube reserved", kube_reserved);
    texts(digest, "eviction hard", eviction_hard);
    texts(digest, "eviction soft", eviction_soft);
    let grace = eviction_soft_grace_period.iter();
    digest
        .list("grace period", grace.map(|(signal, time)| format!("{signal}={}", format_go(*time))));
    digest.optional("max pod grace period", *eviction_max_pod_grace_period);
    digest.optional("image gc high", *image_gc_high_threshold_percent);
    digest.optional("image gc low", *image_gc_low_threshold_percent);
    digest.optional("cfs quota", *cpu_cfs_quota);
    texts(digest, "passed through", passed_through);
}

/// Keys and values, each a field: neither can run into the other.
fn texts<K: std::fmt::Display>(digest: &mut Digest, name: &str, texts: &BTreeMap<K, String>) {
    digest.field(name, texts.len());
    for (key, value) in texts {
        digest.field(name, key);
        digest.field(name, value);
    }
}
