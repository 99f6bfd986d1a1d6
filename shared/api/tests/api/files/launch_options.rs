//! EC2NodeClasses: reservations, placement groups, network interfaces, connections, processors.

use model::node_class::{
    ConnectionTracking, MatchCriteria, NetworkInterface, PlacementGroupTerm, ReservationTerm,
};

use super::{
    node_class::{good, spec},
    *,
};

#[test]
fn every_option_is_read() {
    let class = good(&format!(
        "{CLASS}  placementGroupSelector: {{name: pg-is-a-name}}
  capacityReservationSelectorTerms:
    - {{id: cr-1}}
    - {{instanceMatchCriteria: targeted}}
    - {{tags: {{use: \"*\"}}, ownerID: \"111122223333\", instanceMatchCriteria: open}}
  networkInterfaces:
    - {{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}}
    - {{networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}}
  connectionTracking: {{tcpEstablishedTimeout: 432000, udpTimeout: 30}}
  cpuOptions: {{nestedVirtualization: disabled}}
"
    ));
    assert!(class.problems.is_empty(), "{:?}", class.problems);
    assert_eq!(class.placement_group, Some(PlacementGroupTerm::Name("pg-is-a-name".to_owned())));
    let [id, targeted, tagged] = class.reservation_terms.as_slice() else { panic!() };
    assert_eq!(id, &ReservationTerm::Id("cr-1".parse().unwrap()));
    let of = |term: &ReservationTerm| match term {
        ReservationTerm::Search { match_criteria, owner, tags } => {
            (*match_criteria, owner.clone(), tags.len())
        }
        ReservationTerm::Id(_) => panic!(),
    };
    assert_eq!(of(targeted), (Some(MatchCriteria::Targeted), None, 0));
    assert_eq!(of(tagged), (Some(MatchCriteria::Open), Some("111122223333".to_owned()), 1));
    assert_eq!(
        class.network_interfaces,
        [
            NetworkInterface { card: 0, device: 0, is_efa_only: false },
            NetworkInterface { card: 1, device: 1, is_efa_only: true },
        ]
    );
    let tracking = ConnectionTracking {
        tcp_established_seconds: Some(432_000),
        udp_stream_seconds: None,
        udp_seconds: Some(30),
    };
    assert_eq!(class.connection_tracking, Some(tracking));
    assert_eq!(class.nested_virtualization, Some(false));
}

#[test]
fn nothing_is_asked_for_by_default() {
    let class = good(&format!("{CLASS}  cpuOptions: {{}}\n  networkInterfaces: []\n"));
    assert_eq!(class.nested_virtualization, None);
    assert!(class.network_interfaces.is_empty() && class.reservation_terms.is_empty());
    assert!(class.placement_group.is_none() && class.connection_tracking.is_none());
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of both sides of every rule")]
fn options_that_break_their_rules_are_refused() {
    each(
        spec,
        &[
            "capacityReservationSelectorTerms: [{id: cr-1, ownerID: \"111122223333\"}]",
            "capacityReservationSelectorTerms: [{id: cr-1, instanceMatchCriteria: open}]",
            "capacityReservationSelectorTerms: [{id: cr-1}, {ownerID: \"111122223333\"}]",
            "capacityReservationSelectorTerms: [{}]",
            "capacityReservationSelectorTerms: [{id: xcr-1}]",
            "capacityReservationSelectorTerms: [{tags: {a: b}, ownerID: \"12\"}]",
            "capacityReservationSelectorTerms: [{instanceMatchCriteria: any}]",
            "capacityReservationSelectorTerms: [{tags: {a: \"\"}}]",
            "placementGroupSelector: {}",
            "placementGroupSelector: {name: a, id: pg-1}",
            "placementGroupSelector: {name: \"\"}",
            "placementGroupSelector: {id: pg-X}",
            "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 1, interfaceType: interface}]",
            "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}]",
            "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa}]",
            "networkInterfaces: [{networkCardIndex: -1, deviceIndex: 0, interfaceType: interface}]",
            "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]",
            "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 0, interfaceType: efa-only}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]",
            "connectionTracking: {}",
            "connectionTracking: {tcpEstablishedTimeout: 59}",
            "connectionTracking: {tcpEstablishedTimeout: 432001}",
            "connectionTracking: {udpStreamTimeout: 59}",
            "connectionTracking: {udpStreamTimeout: 181}",
            "connectionTracking: {udpTimeout: 29}",
            "connectionTracking: {udpTimeout: 61}",
            "cpuOptions: {nestedVirtualization: true}",
            "cpuOptions: {nestedVirtualization: on-demand}",
        ],
        &expect![[r#"
            capacityReservationSelectorTerms: [{id: cr-1, ownerID: "111122223333"}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0]: `id` excludes every other member of its term
            capacityReservationSelectorTerms: [{id: cr-1, instanceMatchCriteria: open}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0]: `id` excludes every other member of its term
            capacityReservationSelectorTerms: [{id: cr-1}, {ownerID: "111122223333"}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[1]: must have at least one of `tags`, `id` and `instanceMatchCriteria`; `ownerID` alone is not enough
            capacityReservationSelectorTerms: [{}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0]: must have at least one of `tags`, `id` and `instanceMatchCriteria`
            capacityReservationSelectorTerms: [{id: xcr-1}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0].id: `xcr-1` must be `cr-` followed by lower-case letters and digits
            capacityReservationSelectorTerms: [{tags: {a: b}, ownerID: "12"}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0].ownerID: `12` is not an account: it must have twelve digits
            capacityReservationSelectorTerms: [{instanceMatchCriteria: any}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0].instanceMatchCriteria: must be one of `open`, `targeted`, not `any`
            capacityReservationSelectorTerms: [{tags: {a: ""}}]
                x.yaml:9: EC2NodeClass default: spec.capacityReservationSelectorTerms[0].tags.a: must not be empty; write "*" for any value
            placementGroupSelector: {}
                x.yaml:9: EC2NodeClass default: spec.placementGroupSelector: must have exactly one of `name` and `id`
            placementGroupSelector: {name: a, id: pg-1}
                x.yaml:9: EC2NodeClass default: spec.placementGroupSelector: must have exactly one of `name` and `id`
            placementGroupSelector: {name: ""}
                x.yaml:9: EC2NodeClass default: spec.placementGroupSelector.name: must not be empty
            placementGroupSelector: {id: pg-X}
                x.yaml:9: EC2NodeClass default: spec.placementGroupSelector.id: `pg-X` must be `pg-` followed by lower-case letters and digits
            networkInterfaces: [{networkCardIndex: 0, deviceIndex: 1, interfaceType: interface}]
                x.yaml:9: EC2NodeClass default: spec.networkInterfaces: must have an entry with networkCardIndex 0, deviceIndex 0 and interfaceType `interface`
            networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}]
                x.yaml:9: EC2NodeClass default: spec.networkInterfaces: must have an entry with networkCardIndex 0, deviceIndex 0 and interfaceType `interface`
            networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa}]
                x.yaml:9: EC2NodeClass default: spec.networkInterfaces[0].interfaceType: must be one of `interface`, `efa-only`, not `efa`
            networkInterfaces: [{networkCardIndex: -1, deviceIndex: 0, interfaceType: interface}]
                x.yaml:9: EC2NodeClass default: spec.networkInterfaces[0].networkCardIndex: must be at least 0, not -1
            networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]
                x.yaml:9: EC2NodeClass default: spec.networkInterfaces[1]: networkCardIndex 0 and deviceIndex 0 stand there twice
            networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 0, interfaceType: efa-only}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]
                x.yaml:9: EC2NodeClass default: spec.networkInterfaces: must have at most one `efa-only` interface on each network card
            connectionTracking: {}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking: must have at least one of `tcpEstablishedTimeout`, `udpStreamTimeout` and `udpTimeout`
            connectionTracking: {tcpEstablishedTimeout: 59}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking.tcpEstablishedTimeout: must be 60 to 432000, not 59
            connectionTracking: {tcpEstablishedTimeout: 432001}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking.tcpEstablishedTimeout: must be 60 to 432000, not 432001
            connectionTracking: {udpStreamTimeout: 59}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking.udpStreamTimeout: must be 60 to 180, not 59
            connectionTracking: {udpStreamTimeout: 181}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking.udpStreamTimeout: must be 60 to 180, not 181
            connectionTracking: {udpTimeout: 29}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking.udpTimeout: must be 30 to 60, not 29
            connectionTracking: {udpTimeout: 61}
                x.yaml:9: EC2NodeClass default: spec.connectionTracking.udpTimeout: must be 30 to 60, not 61
            cpuOptions: {nestedVirtualization: true}
                x.yaml:9: EC2NodeClass default: spec.cpuOptions.nestedVirtualization: must be one of `enabled`, `disabled`, not `true`
            cpuOptions: {nestedVirtualization: on-demand}
                x.yaml:9: EC2NodeClass default: spec.cpuOptions.nestedVirtualization: must be one of `enabled`, `disabled`, not `on-demand`
        "#]],
    );
}
