//! Reservations, adapters, interfaces, placement groups: what becomes of them in templates.

use model::{
    InstanceTypeName, Zone, labels,
    launch::{Interface, InterfaceKind, ReservationMarket, ReservationTarget},
    node_class::{
        CapacityReservation, ConnectionTracking, MatchCriteria, NetworkInterface, PlacementGroup,
        PlacementStrategy,
    },
};

use super::*;
use crate::testing::described;

const ANY: &str = "paid=on-demand,reserved,spot";
const RESERVED: &str = "paid=reserved";

/// `id type zone kind left`, kinds `default`, `block` and `interruptible`.
fn reservation(text: &str) -> CapacityReservation {
    let words: Vec<&str> = text.split(' ').collect();
    let [id, name, zone, kind, left] = words.as_slice() else { panic!("{text}") };
    CapacityReservation {
        id: (*id).parse().unwrap(),
        instance_type: InstanceTypeName::new(name).unwrap(),
        zone: Zone::new(&format!("us-west-2{zone}")).unwrap(),
        owner: "111122223333".to_owned(),
        match_criteria: MatchCriteria::Targeted,
        is_capacity_block: *kind == "block",
        is_interruptible: *kind == "interruptible",
        is_expiring: false,
        ends_at: None,
        available_count: left.parse().unwrap(),
    }
}

/// What is bought: market, then for each template its reservation, types and zones.
#[track_caller]
fn check(wanted: &str, reservations: &[&str], types: &[&str], expected: &Expect) {
    let mut class = al2023();
    class.reservations = reservations.iter().map(|text| reservation(text)).collect();
    let launch = launch(&claim(&[wanted], types), &class, types);
    let request = &launch.request;
    let mut lines = vec![format!("{} {:?}", request.capacity_type, request.market)];
    for config in &request.templates {
        let template = launch
            .templates
            .iter()
            .find(|launch_template| launch_template.name == config.template)
            .unwrap();
        let reservation = template.data.reservation.as_ref().map(|target| target.id.as_str());
        let places: Vec<String> =
            config.overrides.iter().map(|o| format!("{} {}", o.instance_type, o.zone)).collect();
        lines.push(format!("{}: {}", reservation.unwrap_or("none"), places.join(", ")));
    }
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn a_launch_goes_into_reservations_first_with_a_template_for_each() {
    check(
        ANY,
        &[
            "cr-a m7i.large a default 3",
            "cr-b m7i.large b default 1",
            "cr-x m7i.xlarge a default 9",
        ],
        &[LARGE, XLARGE],
        &expect![[r"
            reserved OnDemand
            cr-a: m7i.large us-west-2a
            cr-b: m7i.large us-west-2b
            cr-x: m7i.xlarge us-west-2a"]],
    );
}

#[test]
fn of_reservations_in_one_zone_the_one_with_most_room_is_taken() {
    check(
        ANY,
        &["cr-a m7i.large a default 3", "cr-b m7i.large a default 5", "cr-c m7i.large b default 1"],
        &[LARGE],
        &expect![[r"
            reserved OnDemand
            cr-b: m7i.large us-west-2a
            cr-c: m7i.large us-west-2b"]],
    );
}

#[test]
fn of_capacity_blocks_the_cheapest_alone_is_taken() {
    check(
        RESERVED,
        &["cr-x m7i.xlarge a block 3", "cr-b m7i.large b block 1", "cr-a m7i.large a block 1"],
        &[LARGE, XLARGE],
        &expect![[r"
            reserved CapacityBlock
            cr-a: m7i.large us-west-2a"]],
    );
}

#[test]
fn kinds_of_reservations_are_not_mixed_and_the_cheapest_kind_wins() {
    check(
        ANY,
        &["cr-x m7i.xlarge a default 3", "cr-a m7i.large a interruptible 1"],
        &[LARGE, XLARGE],
        &expect![[r"
            reserved Interruptible
            cr-a: m7i.large us-west-2a"]],
    );
    check(
        ANY,
        &[
            "cr-a m7i.large a interruptible 1",
            "cr-b m7i.large b block 1",
            "cr-c m7i.large a default 1",
        ],
        &[LARGE, XLARGE],
        &expect![[r"
            reserved OnDemand
            cr-c: m7i.large us-west-2a"]],
    );
}

#[test]
fn without_room_in_reservations_the_launch_is_spot() {
    check(
        ANY,
        &["cr-a m7i.large a default 0"],
        &[LARGE],
        &expect![[r"
        spot OnDemand
        none: m7i.large us-west-2a, m7i.large us-west-2b"]],
    );
    check(
        "paid=spot",
        &["cr-a m7i.large a default 3"],
        &[LARGE],
        &expect![[r"
        spot OnDemand
        none: m7i.large us-west-2a, m7i.large us-west-2b"]],
    );
}

/// The data of the only launch template for `claim`, on a type with two adapters.
fn data(claim: &NodeClaim, class: &ResolvedNodeClass, type_text: &str) -> LaunchTemplateData {
    let types = crate::offer(&described(&[type_text]), class, &BTreeMap::new(), now());
    let settings = settings();
    let launch = requests(std::slice::from_ref(claim), class, &types, &settings, PROFILE).unwrap();
    launch.templates[0].data.clone()
}

fn efa() -> String {
    format!("{LARGE} vpc.amazonaws.com/efa=2")
}

#[test]
fn a_claim_that_asks_for_adapters_gets_all_of_the_types() {
    let text = efa();
    let mut wanting = claim(&[ON_DEMAND], &[&text]);
    assert_eq!(data(&wanting, &al2023(), &text).interfaces, [Interface::ONLY]);
    wanting.requests = resources("vpc.amazonaws.com/efa=1 pods=1");
    let mut class = al2023();
    class.class.associate_public_ip_address = Some(true);
    let sent = data(&wanting, &class, &text);
    let adapter =
        |card, device| Interface { card: Some(card), device, kind: Some(InterfaceKind::Efa) };
    assert_eq!(sent.interfaces, [adapter(0, 0), adapter(1, 1)]);
    assert_eq!(sent.associate_public_ip_address, Some(true));
}

#[test]
fn a_claim_whose_pods_claim_network_devices_gets_all_adapters_of_the_types() {
    let text = efa();
    let with = |drivers: &str| {
        let mut wanting = claim(&[ON_DEMAND], &[&text]);
        let annotation = (labels::REQUESTED_DRA_DRIVERS.to_owned(), drivers.to_owned());
        wanting.annotations.extend([annotation]);
        data(&wanting, &al2023(), &text).interfaces
    };
    assert_eq!(with("gpu.nvidia.com"), [Interface::ONLY]);
    assert_eq!(with("dra.net,gpu.nvidia.com").len(), 2);
}

#[test]
fn interfaces_of_the_class_are_sent_as_they_are_whatever_the_claim_asks_for() {
    let text = efa();
    let mut class = al2023();
    class.class.network_interfaces = vec![
        NetworkInterface { card: 0, device: 0, is_efa_only: false },
        NetworkInterface { card: 1, device: 0, is_efa_only: true },
    ];
    class.class.connection_tracking =
        Some(ConnectionTracking { udp_seconds: Some(30), ..ConnectionTracking::default() });
    let expected = [
        Interface { card: Some(0), device: 0, kind: Some(InterfaceKind::Interface) },
        Interface { card: Some(1), device: 0, kind: Some(InterfaceKind::EfaOnly) },
    ];
    let text = format!("{text} karpenter.k8s.aws/instance-hypervisor=nitro");
    let mut wanting = claim(&[ON_DEMAND], &[&text]);
    let sent = data(&wanting, &class, &text);
    assert_eq!(sent.interfaces, expected);
    assert_eq!(sent.connection_tracking, class.class.connection_tracking);
    wanting.requests = resources("vpc.amazonaws.com/efa=1 pods=1");
    assert_eq!(data(&wanting, &class, &text).interfaces, expected);
}

#[test]
fn processors_are_told_about_nested_virtualization_only_when_the_class_says_so() {
    let mut class = al2023();
    let claim = claim(&[ON_DEMAND], &[LARGE]);
    assert_eq!(data(&claim, &class, LARGE).nested_virtualization, None);
    class.class.nested_virtualization = Some(false);
    assert_eq!(data(&claim, &class, LARGE).nested_virtualization, Some(false));
}

#[test]
fn a_launch_goes_into_the_partition_that_sorts_first_as_text() {
    let mut class = al2023();
    let mut group = |strategy| {
        class.placement_group = Some(PlacementGroup {
            id: "pg-1".parse().unwrap(),
            name: "group".to_owned(),
            strategy,
        });
        let partition = |requirements: &[&str]| {
            let claim = claim(requirements, &[LARGE]);
            data(&claim, &class, LARGE).placement_group.unwrap().partition
        };
        let wanted = "karpenter.k8s.aws/placement-group-partition=2,10";
        [partition(&[ON_DEMAND]), partition(&[ON_DEMAND, wanted])]
    };
    assert_eq!(group(PlacementStrategy::Partition { count: 12 }), [Some(1), Some(10)]);
    assert_eq!(group(PlacementStrategy::Cluster), [None, None]);
}

#[test]
fn everything_of_a_template_is_in_its_name() {
    let base = data(&claim(&[ON_DEMAND], &[LARGE]), &al2023(), LARGE);
    let name = |change: &dyn Fn(&mut LaunchTemplateData)| {
        let mut data = base.clone();
        change(&mut data);
        launch_template(data).name.to_string()
    };
    let names: BTreeSet<String> = [
        name(&|_| {}),
        name(&|data| data.interfaces.push(Interface::ONLY)),
        name(&|data| data.nested_virtualization = Some(false)),
        name(&|data| {
            data.connection_tracking =
                Some(ConnectionTracking { udp_seconds: Some(30), ..ConnectionTracking::default() });
        }),
        name(&|data| {
            data.reservation = Some(ReservationTarget {
                id: "cr-1".parse().unwrap(),
                market: ReservationMarket::OnDemand,
            });
        }),
        name(&|data| {
            data.reservation = Some(ReservationTarget {
                id: "cr-1".parse().unwrap(),
                market: ReservationMarket::CapacityBlock,
            });
        }),
        name(&|data| {
            data.placement_group = Some(model::launch::PlacementGroupPlacement {
                group: "pg-1".parse().unwrap(),
                partition: None,
            });
        }),
    ]
    .into();
    assert_eq!(names.len(), 7);
}
