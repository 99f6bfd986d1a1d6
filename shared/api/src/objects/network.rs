//! `networkInterfaces` and `connectionTracking` of an EC2NodeClass.

use std::collections::BTreeSet;

use model::node_class::{ConnectionTracking, NetworkInterface};

use crate::document::field::Field;

const INTERFACES_MAX: usize = 150;

/// Reads `networkInterfaces`. What is wrong is complained about and left out.
pub(crate) fn interfaces(field: &Field<'_>) -> Vec<NetworkInterface> {
    let items = field.list_up_to(INTERFACES_MAX).unwrap_or_default();
    let read: Vec<Option<NetworkInterface>> = items.iter().map(interface).collect();
    let mut network_interfaces: Vec<NetworkInterface> = Vec::new();
    for (item, network_interface) in items.iter().zip(&read) {
        let Some(one) = network_interface else { continue };
        if network_interfaces
            .iter()
            .any(|other| (other.card, other.device) == (one.card, one.device))
        {
            item.complain(format!(
                "networkCardIndex {} and deviceIndex {} stand there twice",
                one.card, one.device
            ));
        }
        network_interfaces.push(*one);
    }
    if read.iter().any(Option::is_none) {
        return network_interfaces;
    }
    let is_first = |network_interface: &NetworkInterface| {
        (network_interface.card, network_interface.device, network_interface.is_efa_only)
            == (0, 0, false)
    };
    if !network_interfaces.is_empty() && !network_interfaces.iter().any(is_first) {
        field.complain(
            "must have an entry with networkCardIndex 0, deviceIndex 0 and interfaceType `interface`",
        );
    }
    let efa_only: Vec<u32> = network_interfaces
        .iter()
        .filter(|network_interface| network_interface.is_efa_only)
        .map(|network_interface| network_interface.card)
        .collect();
    let cards: BTreeSet<&u32> = efa_only.iter().collect();
    if cards.len() < efa_only.len() {
        field.complain("must have at most one `efa-only` interface on each network card");
    }
    network_interfaces
}

fn interface(item: &Field<'_>) -> Option<NetworkInterface> {
    let mut fields = item.fields()?;
    let index = |field: Option<Field<'_>>| field?.integer(0, i64::from(i32::MAX));
    let card = index(fields.require("networkCardIndex"));
    let device = index(fields.require("deviceIndex"));
    let kinds = &[("interface", false), ("efa-only", true)];
    let is_efa_only = fields.require("interfaceType").and_then(|field| field.choice(kinds));
    fields.done();
    Some(NetworkInterface { card: card?, device: device?, is_efa_only: is_efa_only? })
}

/// Reads `connectionTracking`.
pub(crate) fn connection_tracking(field: &Field<'_>) -> Option<ConnectionTracking> {
    let mut fields = field.fields()?;
    let mut seconds = |key, least, most| {
        let field = fields.get(key);
        (field.is_some(), field.and_then(|field| field.integer(least, most)))
    };
    let tcp_established = seconds("tcpEstablishedTimeout", 60, 432_000);
    let udp_stream = seconds("udpStreamTimeout", 60, 180);
    let udp = seconds("udpTimeout", 30, 60);
    fields.done();
    if !(tcp_established.0 || udp_stream.0 || udp.0) {
        field.complain(
            "must have at least one of `tcpEstablishedTimeout`, `udpStreamTimeout` and `udpTimeout`",
        );
        return None;
    }
    Some(ConnectionTracking {
        tcp_established_seconds: tcp_established.1,
        udp_stream_seconds: udp_stream.1,
        udp_seconds: udp.1,
    })
}
