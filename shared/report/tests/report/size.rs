//! A page is small, however large the cluster is.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{
    Millicores, Namespace, ObjectName, Pod, PodKey, PodSpec, PodUid, Resources, pod::PodPhase,
};
use report::{
    contents::{
        Chart, LANES_MAX, LINES_MAX, Lane, Lanes, Measure, PackedNode, PackingView, PageData,
        PageTimeline, Series, Style,
    },
    cost::{Costs, Over, shares},
    packing::Packer,
    page::page,
};

const NODES: u64 = 5_000;
const BYTES_MAX: usize = 400_000;

/// Numbers without a pattern, as ids have them: <https://prng.di.unimi.it/splitmix64.c>.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn node_name(number: u64) -> String {
    format!("ip-10-0-{}-{}.us-west-2.compute.internal", number / 250, number % 250)
}

fn pod(name: &str, spec: &Arc<PodSpec>) -> Pod {
    Pod {
        key: PodKey {
            namespace: Namespace::new("shop").unwrap(),
            name: ObjectName::new(name).unwrap(),
        },
        uid: PodUid::new(name).unwrap(),
        created_at: Timestamp::UNIX_EPOCH,
        deleted_at: None,
        phase: PodPhase::Running,
        started_at: None,
        unschedulable_at: None,
        node: None,
        nominated_node: None,
        owner: None,
        is_ready: true,
        volumes: Vec::new(),
        made_claims: BTreeMap::new(),
        spec: Arc::clone(spec),
    }
}

/// 5,000 nodes with ten pods each.
fn packing() -> Option<PackingView> {
    let mut packer = Packer::default();
    let resources = Resources { cpu: Millicores(370), ..Resources::default() };
    let spec = Arc::new(PodSpec { requests: resources, ..PodSpec::default() });
    let nodes = (0..NODES).map(|number| {
        let pods = (0..10).map(|place| {
            let id = mixed(number * 10 + place);
            let workload = id % 60;
            let name = format!("service-{workload}-{:09x}-{:05x}", id % 97, id >> 44);
            let pod = pod(&name, &spec);
            let why = format!("kube-scheduler put it here; bound at +00:{:02}:10", id % 60);
            packer.pod(&pod, format!("shop/service-{workload}"), why)
        });
        PackedNode {
            name: node_name(number),
            kind: "spot m7g.xlarge us-west-2c".to_owned(),
            pool: format!("pool-{}", number % 5),
            price: Some(46_785),
            cpu: 3_920,
            memory: 14 << 30,
            mark: None,
            pods: pods.collect(),
            why: Vec::new(),
        }
    });
    let nodes = nodes.collect();
    packer.moment("+24:00:00".to_owned(), Some(Timestamp::UNIX_EPOCH), nodes);
    packer.finish("Nodes and pods.".to_owned())
}

fn lanes() -> Lanes {
    let lane = |place: usize| {
        let number = place as u64;
        let from = i64::try_from(mixed(number) % 86_400).unwrap();
        let claim = format!("general-sim1-{number}-{}", number % 36);
        Lane {
            name: node_name(number),
            names: vec![claim, format!("i-0{:016x}", mixed(number)), node_name(number)],
            pool: format!("pool-{}", number % 5),
            kind: "spot m7g.xlarge us-west-2c".to_owned(),
            price: Some(46_785),
            from,
            going: Some(from + 600),
            to: Some(from + 700),
            came: format!("provision: general: {} nodes for {number} pods", number % 17),
            went: vec!["Empty".to_owned(), format!("disrupt: emptiness: {} nodes", number % 11)],
            moments: (0..8).map(|place| (i64::from(place) * 31, "InstanceLaunched")).collect(),
        }
    };
    let rows = (0..LANES_MAX).map(lane).collect();
    Lanes { about: String::new(), from: 0, to: 86_400, rows, left_out: 4_400 }
}

fn chart(seed: u64, series: u64) -> Chart {
    let values = |line: u64| {
        let value = |at: u64| Some(10_000 + mixed(seed + line * 300 + at) % 900);
        Series { name: format!("m{line}g.xlarge"), values: (0..300).map(value).collect() }
    };
    let lines = || (0..series).map(values).collect::<Vec<Series>>();
    Chart {
        title: "Capacity by instance type",
        about: String::new(),
        unit: "",
        per: 1,
        style: Style::Stack,
        at: (0..300).map(|place| 1_767_600_000 + place * 300).collect(),
        series: lines(),
        measures: vec![Measure { name: "nodes", unit: "", per: 1, series: lines() }],
    }
}

#[test]
fn a_page_of_5_000_nodes_is_small() {
    let line = |place: usize| {
        let id = mixed(place as u64);
        let what = format!("7 pods bound to {} (i-0{id:016x})", node_name(id % NODES));
        (format!("+{:02}:{:02}:{:02}", place / 200, place % 60, id % 60), place % 20, what)
    };
    let mut costs = Costs::default();
    for number in 0..500 {
        let name = format!("shop-{}/service-{number}", number % 40);
        costs.add("general", 1_000_000_000, &shares([4, 4], [(name.as_str(), [1, 1])]));
    }
    let data = PageData {
        charts: vec![chart(0, 10), chart(9_000, 3), chart(19_000, 2), chart(29_000, 2)],
        costs: costs.view(Over::Seconds(86_400)),
        packing: packing(),
        lanes: Some(lanes()),
        timeline: Some(PageTimeline {
            about: String::new(),
            start: 0,
            kinds: vec!["PodBound"; 20],
            lines: (0..LINES_MAX).map(line).collect(),
        }),
        ..PageData::default()
    };
    let json = serde_json::to_string(&data).unwrap().len();
    let bytes = page(&data).unwrap().len();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes of {json} bytes of JSON");
    // What is left out is said.
    let packing = data.packing.unwrap();
    assert_eq!(packing.moments[0].nodes.len() + packing.moments[0].nodes_left_out, 5_000);
}
