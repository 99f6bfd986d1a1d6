//! The price list, measured: a call of a port takes the requests that the simulated account counts for it.
//!
//! Each call is made of the account itself, which counts by its list, and then by the adapter, whose requests the
//! server counts. Listings have several pages, and batches are full.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    CapacityType, InstanceId, LaunchTemplateName,
    launch::{FleetRequest, LaunchTemplate, RunRequest, TemplateVersion},
    node_class::{ImageTerm, PlacementGroupTerm, ReservationTerm, SecurityGroupTerm, SubnetTerm},
};
use ports::{Discovery, Fleet, Forensics, Market, Profiles, Templates};
use simulator::{Action, ReservationRecord, WorldSettings};
use testkit::{FleetWorld, ReservationWorld, build};
use tokio::task::LocalSet;

use super::world::World;

/// Requests by operation.
type Counts = BTreeMap<String, u64>;

/// What was compared so far.
#[derive(Default)]
struct Comparison {
    calls: BTreeSet<&'static str>,
    differences: Vec<String>,
}

fn since(before: &Counts, after: Counts) -> Counts {
    let more = |(operation, count): (String, u64)| {
        let count = count - before.get(&operation).copied().unwrap_or_default();
        (count > 0).then_some((operation, count))
    };
    after.into_iter().filter_map(more).collect()
}

impl Comparison {
    fn note(&mut self, call: &'static str, listed: &Counts, sent: &Counts) {
        self.calls.insert(call);
        if listed != sent {
            self.differences.push(format!("{call}: the list says {listed:?}, sent {sent:?}"));
        }
    }
}

/// What the account counted so far.
fn counted(world: &World) -> Counts {
    let counts = world.sim.calls_by_action().into_iter();
    counts.map(|(action, count)| (action.name.to_owned(), count.answered)).collect()
}

/// Makes `$made` of the account and then by `$adapter`, each as `$port`, and compares what both came to.
macro_rules! compare {
    ($comparison:ident, $call:literal, $world:ident.$adapter:ident, |$port:ident, $at:ident| $made:expr) => {{
        let before = counted(&$world);
        let ($port, $at) = (&$world.sim, 0_usize);
        $made.await.unwrap();
        let listed = since(&before, counted(&$world));
        let before = $world.server.requests();
        let ($port, $at) = (&$world.$adapter, 1_usize);
        $made.await.unwrap();
        $comparison.note($call, &listed, &since(&before, $world.server.requests()));
    }};
    ($comparison:ident, $call:literal, $world:ident.$adapter:ident, |$port:ident| $made:expr) => {
        compare!($comparison, $call, $world.$adapter, |$port, _at| $made)
    };
}

/// The region, with the launch template that `wanted` asks for.
async fn region(wanted: &FleetWorld) -> World {
    let settings =
        WorldSettings { listing_lag: SignedDuration::from_secs(1), ..WorldSettings::default() };
    let world = World::open_region(settings, 1_000).await;
    Templates::ensure(&world.sim, &wanted.template).await.unwrap();
    world
}

/// Launches `count` instances for a batch of its own.
async fn launch(world: &World, wanted: &FleetWorld, batch: &str, count: u32) -> Vec<InstanceId> {
    let request = FleetRequest { count, token: build::id(batch), ..wanted.request.clone() };
    let answer = world.sim.launch(&request).await.unwrap();
    world.pass(5);
    answer.instances.into_iter().map(|launched| launched.id).collect()
}

async fn compare_fleet(comparison: &mut Comparison, wanted: &FleetWorld) {
    let world = region(wanted).await;
    let mut instances = launch(&world, wanted, "first", 1_000).await;
    instances.extend(launch(&world, wanted, "second", 204).await);
    let requests = ["third", "fourth"]
        .map(|batch| FleetRequest { token: build::id(batch), ..wanted.request.clone() });
    compare!(comparison, "Fleet.launch", world.fleet, |fleet, at| fleet.launch(&requests[at]));
    world.pass(5);
    compare!(comparison, "Fleet.dry_run", world.fleet, |fleet| Fleet::dry_run(
        fleet,
        &wanted.request
    ));
    let run = RunRequest {
        template: wanted.template.name.clone(),
        version: TemplateVersion::Latest,
        instance_type: build::id("m7g.large"),
        subnet: build::id("subnet-a"),
        security_groups: wanted.template.data.security_groups.clone(),
        tags: wanted.request.tags.clone(),
    };
    compare!(comparison, "Fleet.dry_run_instance", world.fleet, |fleet| fleet
        .dry_run_instance(&run));
    compare!(comparison, "Fleet.describe", world.fleet, |fleet| fleet.describe(&instances[..450]));
    compare!(comparison, "Fleet.of_batch", world.fleet, |fleet| {
        fleet.of_batch(&wanted.cluster, &requests[0].token)
    });
    compare!(comparison, "Fleet.list", world.fleet, |fleet| Fleet::list(fleet, &wanted.cluster));
    compare!(comparison, "Fleet.impaired", world.fleet, |fleet| fleet.impaired());
    let tags = [("Name".to_owned(), "node".to_owned())].into();
    compare!(comparison, "Fleet.tag", world.fleet, |fleet, at| fleet.tag(&instances[at], &tags));
    compare!(comparison, "Fleet.reboot", world.fleet, |fleet, at| fleet.reboot(&instances[at]));
    compare_forensics(comparison, &world, wanted, &instances[0]).await;
    let ended = [&instances[..601], &instances[601..1_202]];
    compare!(comparison, "Fleet.terminate", world.fleet, |fleet, at| fleet.terminate(ended[at]));
}

async fn compare_forensics(
    comparison: &mut Comparison,
    world: &World,
    wanted: &FleetWorld,
    instance: &InstanceId,
) {
    compare!(comparison, "Forensics.console", world.forensics, |port| port.console(instance));
    compare!(comparison, "Forensics.checks", world.forensics, |port| port.checks(instance));
    compare!(comparison, "Forensics.instance", world.forensics, |port| port.instance(instance));
    let joining = Forensics::instance(&world.sim, instance).await.unwrap();
    let profile = joining.profile.clone().expect("nodes have a profile");
    Profiles::ensure(&world.sim, "/", &profile, "nodes", &BTreeMap::new()).await.unwrap();
    compare!(comparison, "Forensics.access", world.forensics, |port| {
        port.access(&wanted.cluster, &joining)
    });
    compare!(comparison, "Forensics.network", world.forensics, |port| {
        port.network(&wanted.cluster, &joining)
    });
    let image = build::id("ami-1");
    compare!(comparison, "Forensics.image", world.forensics, |port| Forensics::image(port, &image));
}

async fn compare_templates(comparison: &mut Comparison, wanted: &FleetWorld) {
    let world = region(wanted).await;
    let named = |name: String| LaunchTemplate {
        name: build::id(&name),
        tags: wanted.request.tags.clone(),
        ..wanted.template.clone()
    };
    for number in 0..250 {
        Templates::ensure(&world.sim, &named(format!("old/{number}"))).await.unwrap();
    }
    let made = [named("new/0".to_owned()), named("new/1".to_owned())];
    compare!(comparison, "Templates.ensure", world.templates, |port, at| {
        Templates::ensure(port, &made[at])
    });
    compare!(comparison, "Templates.ensure", world.templates, |port, at| {
        Templates::ensure(port, &made[at])
    });
    compare!(comparison, "Templates.dry_run", world.templates, |port| {
        Templates::dry_run(port, &wanted.template)
    });
    world.pass(5);
    compare!(comparison, "Templates.list", world.templates, |port| {
        Templates::list(port, &wanted.cluster)
    });
    let names: [LaunchTemplateName; 2] = ["old/0", "old/1"].map(build::id);
    compare!(comparison, "Templates.remove", world.templates, |port, at| {
        Templates::remove(port, &names[at])
    });
}

async fn compare_profiles(comparison: &mut Comparison, wanted: &FleetWorld) {
    const PATH: &str = "/journeyman/us-west-2/demo/";
    let (world, tags) = (region(wanted).await, &BTreeMap::new());
    for number in 0..150 {
        let name = format!("old-{number}");
        Profiles::ensure(&world.sim, PATH, &name, "nodes", tags).await.unwrap();
    }
    for _ in 0..2 {
        compare!(comparison, "Profiles.ensure", world.profiles, |port, at| {
            Profiles::ensure(port, PATH, ["new-0", "new-1"][at], "nodes", tags)
        });
    }
    world.pass(60);
    compare!(comparison, "Profiles.list", world.profiles, |port| Profiles::list(port, PATH));
    compare!(comparison, "Profiles.remove", world.profiles, |port, at| {
        Profiles::remove(port, ["old-0", "old-1"][at])
    });
}

async fn compare_discovery(comparison: &mut Comparison, wanted: &FleetWorld) {
    let world = region(wanted).await;
    let tags = || BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    let subnets = ["subnet-a", "subnet-b"].map(|id| SubnetTerm::Id(build::id(id)));
    let subnets = [subnets.to_vec(), vec![SubnetTerm::Tags(tags())]].concat();
    let groups = [
        SecurityGroupTerm::Id(build::id("sg-1")),
        SecurityGroupTerm::Name("nodes".to_owned()),
        SecurityGroupTerm::Tags(tags()),
    ];
    let bought = ReservationWorld::of(wanted.cluster.clone());
    for reservation in [&bought.targeted, &bought.open] {
        let record = ReservationRecord::of(reservation, tags(), world.sim.now());
        world.sim.act(Action::AddReservation(record));
    }
    let reservations = [&bought.targeted, &bought.open]
        .map(|reservation| ReservationTerm::Id(reservation.id.clone()));
    let images = [ImageTerm::Id(build::id("ami-1")), ImageTerm::Id(build::id("ami-2"))];
    let aliases = [ImageTerm::Alias {
        family: model::node_class::ImageFamily::Al2023,
        version: "latest".to_owned(),
    }];
    let group = PlacementGroupTerm::Name("close".to_owned());
    let free = ["subnet-a", "subnet-b"].map(build::id).into();
    // What was answered is kept: nothing is sent the second time.
    for _ in 0..2 {
        compare!(comparison, "Discovery.subnets", world.discovery, |port| port.subnets(&subnets));
        compare!(comparison, "Discovery.free_addresses", world.discovery, |port| {
            port.free_addresses(&free)
        });
        compare!(comparison, "Discovery.security_groups", world.discovery, |port| {
            port.security_groups(&groups)
        });
        compare!(comparison, "Discovery.reservations", world.discovery, |port| {
            port.reservations(&reservations)
        });
        compare!(comparison, "Discovery.placement_group", world.discovery, |port| {
            port.placement_group(&group)
        });
        for images in [&images[..], &aliases[..]] {
            compare!(comparison, "Discovery.images", world.discovery, |port| {
                port.images(images, "1.34")
            });
        }
        compare!(comparison, "Discovery.launch_template", world.discovery, |port| {
            port.launch_template(&wanted.template.name)
        });
        compare!(comparison, "Discovery.cluster_settings", world.discovery, |port| {
            port.cluster_settings(&wanted.cluster)
        });
        compare!(comparison, "Discovery.zonal_shifts", world.discovery, |port| {
            port.zonal_shifts(&wanted.cluster)
        });
    }
}

async fn compare_market(comparison: &mut Comparison, wanted: &FleetWorld) {
    let world = region(wanted).await;
    compare!(comparison, "Market.instance_types", world.market, |port| port.instance_types());
    compare!(comparison, "Market.zones", world.market, |port| Market::zones(port));
    compare!(comparison, "Market.offered", world.market, |port| port.offered());
    compare!(comparison, "Market.on_demand", world.market, |port| port.on_demand());
    let now = world.sim.now();
    compare!(comparison, "Market.spot", world.market, |port| port.spot(now));
}

#[tokio::test]
async fn adapters_send_as_many_requests_as_the_price_list_says() {
    let play = async {
        let mut comparison = Comparison::default();
        let wanted = FleetWorld::of(WorldSettings::default().cluster, CapacityType::OnDemand);
        compare_fleet(&mut comparison, &wanted).await;
        compare_templates(&mut comparison, &wanted).await;
        compare_profiles(&mut comparison, &wanted).await;
        compare_discovery(&mut comparison, &wanted).await;
        compare_market(&mut comparison, &wanted).await;
        assert_eq!(comparison.differences, Vec::<String>::new());
        let ports = ["Discovery", "Fleet", "Forensics", "Market", "Profiles", "Templates"];
        let listed: BTreeSet<&str> = simulator::limits::costs::COSTS
            .iter()
            .map(|cost| cost.operation)
            .filter(|call| ports.iter().any(|port| call.split('.').next() == Some(port)))
            .collect();
        assert_eq!(comparison.calls, listed, "each call of these ports is compared");
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}
