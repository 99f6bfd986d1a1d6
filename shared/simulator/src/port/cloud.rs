//! The ports of AWS.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    BatchId, CapacityType, ClusterName, Function, HourlyPrice, ImageId, InstanceId,
    InstanceTypeInfo, InstanceTypeName, LaunchTemplateName, SubnetId, Zone, ZoneId,
    instance_type_info::{StoredRegionCatalog, TableFacts},
    interruption::{StatusProblem, StatusReport},
    join::{JoinImage, JoinNetwork, JoiningInstance, NodeAccess},
    labels::CLUSTER_NAME_TAG,
    launch::{FleetAnswer, FleetRequest, Instance, LaunchTemplate, RunRequest},
    message::Delivery,
    node_class::{
        CapacityReservation, ClusterSettings, DescribedTemplate, Image, ImageTerm, InstanceProfile,
        PlacementGroup, PlacementGroupTerm, ReservationTerm, SecurityGroup, SecurityGroupTerm,
        Subnet, SubnetTerm,
    },
    validation::DryRunAnswer,
    zonal_shift::ZonalShift,
};
use ports::{
    Catalog, CatalogStore, Discovery, Fault, Fleet, Forensics, Mailbox, Market, PortError,
    Profiles, Templates,
};

use crate::{
    Sim, TemplateRecord,
    account::is_about_profile,
    authorization::Call,
    fault::Access::{Read, Write},
    limits::Load,
    loads,
    world::World,
};

impl Catalog for Sim {
    async fn catalog(&self) -> Result<Arc<model::RegionCatalog>, PortError> {
        self.step(("Catalog.catalog", Read), "", |world| Ok(Arc::clone(&world.catalog))).await
    }
}

impl Market for Sim {
    async fn instance_types(&self) -> Result<Vec<InstanceTypeInfo>, PortError> {
        self.step(("Market.instance_types", Read), "", |world| {
            let descriptions = world.catalog.descriptions.values();
            let unknown = |info: &Arc<InstanceTypeInfo>| InstanceTypeInfo {
                table: TableFacts::default(),
                ..InstanceTypeInfo::clone(info)
            };
            Ok(descriptions.map(unknown).collect())
        })
        .await
    }

    async fn zones(&self) -> Result<BTreeMap<Zone, ZoneId>, PortError> {
        self.step(("Market.zones", Read), "", |world| Ok(world.catalog.zones.clone())).await
    }

    async fn offered(&self) -> Result<BTreeMap<InstanceTypeName, BTreeSet<Zone>>, PortError> {
        self.step(("Market.offered", Read), "", |world| {
            let mut offered: BTreeMap<_, BTreeSet<Zone>> = BTreeMap::new();
            for (key, _) in world.sold() {
                offered.entry(key.instance_type).or_default().insert(key.zone);
            }
            Ok(offered)
        })
        .await
    }

    async fn on_demand(&self) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError> {
        self.step(("Market.on_demand", Read), "", |world| {
            let sold = world
                .sold()
                .into_iter()
                .filter(|(key, _)| key.capacity_type == CapacityType::OnDemand);
            Ok(sold.map(|(key, price)| (key.instance_type, price)).collect())
        })
        .await
    }

    async fn spot(
        &self,
        _now: Timestamp,
    ) -> Result<BTreeMap<(InstanceTypeName, Zone), HourlyPrice>, PortError> {
        self.step(("Market.spot", Read), "", |world| {
            let sold =
                world.sold().into_iter().filter(|(key, _)| key.capacity_type == CapacityType::Spot);
            Ok(sold.map(|(key, price)| ((key.instance_type, key.zone), price)).collect())
        })
        .await
    }
}

impl CatalogStore for Sim {
    async fn stored(&self) -> Result<Option<StoredRegionCatalog>, PortError> {
        self.step(("CatalogStore.stored", Read), "", |world| Ok(world.catalog_store.clone())).await
    }

    async fn put(&self, stored: &StoredRegionCatalog) -> Result<(), PortError> {
        self.step(("CatalogStore.put", Write), "", |world| {
            world.catalog_store = Some(stored.clone());
            Ok(())
        })
        .await
    }
}

impl Discovery for Sim {
    async fn subnets(&self, terms: &[SubnetTerm]) -> Result<Vec<Subnet>, PortError> {
        let load = |_: &mut World| loads::subnets(terms);
        self.step_of(("Discovery.subnets", Read), "", load, |world| Ok(world.subnets(terms))).await
    }

    async fn free_addresses(
        &self,
        subnets: &BTreeSet<SubnetId>,
    ) -> Result<BTreeMap<SubnetId, u32>, PortError> {
        let terms: Vec<SubnetTerm> = subnets.iter().cloned().map(SubnetTerm::Id).collect();
        let load = |_: &mut World| loads::subnets(&terms);
        let effect = |world: &mut World| {
            let subnets = world.subnets(&terms).into_iter();
            Ok(subnets.map(|subnet| (subnet.id, subnet.available_ip_address_count)).collect())
        };
        self.step_of(("Discovery.free_addresses", Read), "", load, effect).await
    }

    async fn security_groups(
        &self,
        terms: &[SecurityGroupTerm],
    ) -> Result<Vec<SecurityGroup>, PortError> {
        let load = |_: &mut World| loads::security_groups(terms);
        let effect = |world: &mut World| Ok(world.security_groups(terms));
        self.step_of(("Discovery.security_groups", Read), "", load, effect).await
    }

    async fn reservations(
        &self,
        terms: &[ReservationTerm],
    ) -> Result<Vec<CapacityReservation>, PortError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let load = |_: &mut World| loads::reservations(terms);
        let effect = |world: &mut World| Ok(world.reservations(terms));
        self.step_of(("Discovery.reservations", Read), "", load, effect).await
    }

    async fn placement_group(
        &self,
        term: &PlacementGroupTerm,
    ) -> Result<Option<PlacementGroup>, PortError> {
        self.step(("Discovery.placement_group", Read), "", |world| {
            Ok(Some(world.placement_group(term)))
        })
        .await
    }

    async fn images(
        &self,
        terms: &[ImageTerm],
        kubernetes_version: &str,
    ) -> Result<Vec<Image>, PortError> {
        self.authorize("Discovery.images", Call::Images(terms, kubernetes_version));
        let load = |_: &mut World| loads::images(terms, kubernetes_version);
        let subject = loads::parameters(terms).join(" ");
        self.step_of(("Discovery.images", Read), subject, load, |world| {
            Ok(world.images(terms, kubernetes_version))
        })
        .await
    }

    async fn launch_template(
        &self,
        name: &LaunchTemplateName,
    ) -> Result<Option<DescribedTemplate>, PortError> {
        self.step(("Discovery.launch_template", Read), name, |world| {
            Ok(world.template_version(name).as_ref().map(TemplateRecord::described))
        })
        .await
    }

    async fn zonal_shifts(&self, cluster: &ClusterName) -> Result<Vec<ZonalShift>, PortError> {
        self.authorize("Discovery.zonal_shifts", Call::Shifts(cluster));
        self.step(("Discovery.zonal_shifts", Read), cluster, |world| {
            world.zonal_shifts(cluster).map_err(|refusal| refusal.of("GetManagedResource"))
        })
        .await
    }

    async fn cluster_settings(&self, cluster: &ClusterName) -> Result<ClusterSettings, PortError> {
        self.step(("Discovery.cluster_settings", Read), cluster, |world| {
            world.described_cluster(cluster).map_err(|refusal| refusal.of("DescribeCluster"))
        })
        .await
    }
}

impl Templates for Sim {
    async fn ensure(&self, template: &LaunchTemplate) -> Result<(), PortError> {
        self.authorize("Templates.ensure", Call::Template(template));
        let load = |world: &mut World| loads::missing_template(world, &template.name);
        self.step_of(("Templates.ensure", Write), &template.name, load, |world| {
            let ensured = world.ensure_template(template);
            ensured.map_err(|refusal| refusal.of("CreateLaunchTemplate"))
        })
        .await
    }

    async fn dry_run(&self, template: &LaunchTemplate) -> Result<DryRunAnswer, PortError> {
        self.authorize("Templates.dry_run", Call::Template(template));
        dry_run_answer(self.step(("Templates.dry_run", Read), &template.name, |_| Ok(())).await)
    }

    async fn list(
        &self,
        cluster: &ClusterName,
    ) -> Result<BTreeMap<LaunchTemplateName, Timestamp>, PortError> {
        self.step(("Templates.list", Read), cluster, |world| {
            let known = world.account.templates.values();
            let filter = known.filter(|template| {
                template.name.is_of_digest()
                    && template.tags.get(CLUSTER_NAME_TAG).map(String::as_str)
                        == Some(cluster.as_str())
            });
            Ok(filter.map(|template| (template.name.clone(), template.created_at)).collect())
        })
        .await
    }

    async fn remove(&self, name: &LaunchTemplateName) -> Result<(), PortError> {
        self.authorize("Templates.remove", Call::TemplateRemoved(name));
        self.step(("Templates.remove", Write), name, |world| {
            // One that is gone was deleted.
            world.delete_template(name).ok();
            Ok(())
        })
        .await
    }
}

impl Profiles for Sim {
    async fn ensure(
        &self,
        path: &str,
        name: &str,
        role: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        let load = |world: &mut World| loads::missing_profile(world, name);
        self.authorize("Profiles.ensure", Call::Profile { place: (path, name), role, tags });
        self.step_of(("Profiles.ensure", Write), name, load, |world| {
            let ensured = world.ensure_profile(path, name, role, tags);
            ensured.map_err(|refusal| refusal.of("CreateInstanceProfile"))
        })
        .await
    }

    async fn list(&self, path: &str) -> Result<Vec<InstanceProfile>, PortError> {
        self.step(("Profiles.list", Read), path, |world| {
            let known =
                world.account.profiles.values().filter(|profile| profile.path.starts_with(path));
            let profile = |known: &crate::ProfileRecord| InstanceProfile {
                name: known.name.clone(),
                path: known.path.clone(),
                created_at: known.created_at,
            };
            Ok(known.map(profile).collect())
        })
        .await
    }

    async fn remove(&self, name: &str) -> Result<(), PortError> {
        self.authorize("Profiles.remove", Call::ProfileRemoved(name));
        self.step(("Profiles.remove", Write), name, |world| {
            world.remove_profile(name);
            Ok(())
        })
        .await
    }
}

impl Fleet for Sim {
    async fn launch(&self, request: &FleetRequest) -> Result<FleetAnswer, PortError> {
        self.authorize("Fleet.launch", Call::Fleet(request));
        let subject = format!("{} x{}", request.token, request.count);
        let load =
            |_: &mut World| Load::items(usize::try_from(request.count).unwrap_or(usize::MAX));
        self.step_of(("Fleet.launch", Write), subject, load, |world| {
            world.launch(request).map_err(|refusal| refusal.of("CreateFleet"))
        })
        .await
    }

    async fn dry_run(&self, request: &FleetRequest) -> Result<DryRunAnswer, PortError> {
        self.authorize("Fleet.dry_run", Call::Fleet(request));
        let none = |_: &mut World| Load::default();
        let checked = self.step_of(("Fleet.dry_run", Read), &request.token, none, |world| {
            world.check_request(request).map_err(|refusal| refusal.of("CreateFleet"))
        });
        dry_run_answer(checked.await)
    }

    async fn dry_run_instance(&self, request: &RunRequest) -> Result<DryRunAnswer, PortError> {
        self.authorize("Fleet.dry_run_instance", Call::Run(request));
        let none = |_: &mut World| Load::default();
        let operation = ("Fleet.dry_run_instance", Read);
        let checked = self.step_of(operation, &request.subnet, none, |world| {
            world.check_run(&request.template).map_err(|refusal| refusal.of("RunInstances"))
        });
        dry_run_answer(checked.await)
    }

    async fn describe(&self, instances: &[InstanceId]) -> Result<Vec<Instance>, PortError> {
        let subject = ids(instances);
        let load = |_: &mut World| loads::instances(instances);
        let effect = |world: &mut World| Ok(world.describe(instances));
        self.step_of(("Fleet.describe", Read), subject, load, effect).await
    }

    async fn of_batch(
        &self,
        cluster: &ClusterName,
        batch: &BatchId,
    ) -> Result<Vec<Instance>, PortError> {
        let load = |_: &mut World| loads::batch();
        let effect = |world: &mut World| Ok(world.of_batch(cluster, batch));
        self.step_of(("Fleet.of_batch", Read), batch, load, effect).await
    }

    async fn list(&self, cluster: &ClusterName) -> Result<Vec<Instance>, PortError> {
        self.step(("Fleet.list", Read), cluster, |world| Ok(world.list(cluster))).await
    }

    async fn impaired(&self) -> Result<Vec<StatusReport>, PortError> {
        self.step(("Fleet.impaired", Read), "", |world| Ok(world.impaired())).await
    }

    async fn tag(
        &self,
        instance: &InstanceId,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        self.authorize("Fleet.tag", Call::Tag(instance, tags));
        self.step(("Fleet.tag", Write), instance, |world| {
            world.may_tag(instance, tags).map_err(|refusal| refusal.of("CreateTags"))?;
            if world.tag(instance, tags) {
                return Ok(());
            }
            let problem = format!("InvalidInstanceID.NotFound: {instance}");
            Err(PortError::because("CreateTags", Fault::NotFound, problem))
        })
        .await
    }

    async fn reboot(&self, instance: &InstanceId) -> Result<(), PortError> {
        self.authorize("Fleet.reboot", Call::Reboot(instance));
        self.step(("Fleet.reboot", Write), instance, |world| {
            let known = world.known(std::slice::from_ref(instance));
            known.map_err(|refusal| refusal.of("RebootInstances"))?;
            world.reboot(instance);
            Ok(())
        })
        .await
    }

    async fn terminate(&self, instances: &[InstanceId]) -> Result<(), PortError> {
        self.authorize("Fleet.terminate", Call::Terminate(instances));
        let load = |_: &mut World| loads::instances(instances);
        self.step_of(("Fleet.terminate", Write), ids(instances), load, |world| {
            world.terminate(instances).map_err(|refusal| refusal.of("TerminateInstances"))
        })
        .await
    }
}

impl Forensics for Sim {
    async fn console(&self, instance: &InstanceId) -> Result<String, PortError> {
        self.authorize("Forensics.console", Call::Console(instance));
        self.step(("Forensics.console", Read), instance, |world| {
            world.console(instance).map_err(|refusal| refusal.of("GetConsoleOutput"))
        })
        .await
    }

    async fn checks(&self, instance: &InstanceId) -> Result<Vec<StatusProblem>, PortError> {
        self.step(("Forensics.checks", Read), instance, |world| Ok(world.checks(instance))).await
    }

    async fn instance(&self, instance: &InstanceId) -> Result<JoiningInstance, PortError> {
        self.step(("Forensics.instance", Read), instance, |world| {
            world.joining(instance).map_err(|refusal| refusal.of("DescribeInstances"))
        })
        .await
    }

    async fn access(
        &self,
        cluster: &ClusterName,
        instance: &JoiningInstance,
    ) -> Result<NodeAccess, PortError> {
        self.authorize("Forensics.access", Call::Access(cluster, instance));
        self.step(("Forensics.access", Read), cluster, |world| {
            world.access(cluster, instance).map_err(|refusal| refusal.of("DescribeCluster"))
        })
        .await
    }

    async fn network(
        &self,
        cluster: &ClusterName,
        _instance: &JoiningInstance,
    ) -> Result<JoinNetwork, PortError> {
        self.step(("Forensics.network", Read), cluster, |world| Ok(world.join_network())).await
    }

    async fn image(&self, image: &ImageId) -> Result<Option<JoinImage>, PortError> {
        self.step(("Forensics.image", Read), image, |world| Ok(world.join_image(image))).await
    }
}

impl Mailbox for Sim {
    async fn send(&self, deliveries: &[Delivery]) -> Result<(), PortError> {
        let subject = match deliveries {
            [delivery] => {
                format!("{} in {} s", delivery.message.function(), delivery.delay_seconds)
            }
            many => format!("{} messages", many.len()),
        };
        let load = |_: &mut World| loads::messages(deliveries);
        self.step_of(("Mailbox.send", Write), subject, load, |world| {
            world.send(deliveries);
            Ok(())
        })
        .await
    }

    async fn call(&self, cluster: &ClusterName, function: Function) -> Result<(), PortError> {
        self.step(("Mailbox.call", Write), function, |world| {
            world.call(cluster, function);
            Ok(())
        })
        .await
    }
}

fn ids(instances: &[InstanceId]) -> String {
    let ids: Vec<&str> = instances.iter().map(InstanceId::as_str).collect();
    ids.join(" ")
}

/// What EC2 says to a request that was only checked. What a rule forbids for good is what it says to
/// those who may not do it.
fn dry_run_answer(checked: Result<(), PortError>) -> Result<DryRunAnswer, PortError> {
    let Err(error) = checked else { return Ok(DryRunAnswer::Works) };
    match error.refusal() {
        Some(refusal) if is_about_profile(refusal) => {
            Ok(DryRunAnswer::NoProfile(refusal.message.clone()))
        }
        None if error.fault == Fault::Permanent => {
            let words = "You are not authorized to perform this operation.";
            Ok(DryRunAnswer::Forbidden(words.to_owned()))
        }
        _ => Err(error),
    }
}
