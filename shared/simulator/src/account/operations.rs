//! The account as its own APIs show it: what a server in front of it answers with.
//!
//! The ports ask the same account in the domain's words. Each call here is one step, as with them:
//! rules may fail it, and it leaves a line in the trace. Its name is the operation's own.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    ClusterName, ImageId, InstanceId, LaunchTemplateName, ReservationId,
    duration::later,
    interruption::{Interruption, StatusReport},
    join::WayOut,
    launch::{FleetAnswer, FleetRequest, Instance, InstanceState},
    node_class::{
        ClusterSettings, Image, ImageTerm, PlacementGroup, PlacementGroupTerm, SecurityGroup,
        SecurityGroupTerm, Subnet, SubnetTerm,
    },
    zonal_shift::ZonalShift,
};
use ports::PortError;

use super::{
    AwsError, DescribedReservation, NewTemplate, ProfileRecord, ReservationPreference, SpotPrice,
    TemplateRecord,
};
use crate::{
    Sim,
    fault::Access::{Read, Write},
    world::World,
};

/// An instance with everything that EC2 shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedInstance {
    /// What the ports know.
    pub instance: Instance,
    /// All of its tags.
    pub tags: BTreeMap<String, String>,
    /// The client token of the fleet that brought it.
    pub token: String,
    /// What it was launched with.
    pub preference: ReservationPreference,
    /// The capacity reservation that it runs in, asked for or not.
    pub reservation: Option<ReservationId>,
    /// The name of the instance profile that it was launched with, if that is known.
    pub instance_profile: Option<String>,
}

/// What became of an instance that was to be terminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Which.
    pub instance: InstanceId,
    /// Its state before.
    pub previous: InstanceState,
    /// Its state now.
    pub current: InstanceState,
}

impl Sim {
    /// An operation that is only tried (`DryRun`): it needs a permission and has no effect.
    pub async fn dry_run(&self, operation: &'static str) -> Result<(), PortError> {
        self.step((operation, Read), "dry run", |_| Ok(())).await
    }

    /// CreateFleet.
    pub async fn create_fleet(&self, request: &FleetRequest) -> Result<FleetAnswer, PortError> {
        const NAME: &str = "CreateFleet";
        let subject = format!("{} x{}", request.token, request.count);
        self.step((NAME, Write), subject, |w| w.launch(request).map_err(|e| e.of(NAME))).await
    }

    /// CreateFleet with `DryRun`: what it would launch must be there.
    pub async fn try_fleet(&self, request: &FleetRequest) -> Result<(), PortError> {
        const NAME: &str = "CreateFleet";
        let checked = |world: &mut World| world.check_request(request).map_err(|e| e.of(NAME));
        self.step((NAME, Read), "dry run", checked).await
    }

    /// RunInstances with `DryRun`: the template must be there, and EC2 must see its profile.
    pub async fn try_instance(&self, template: &LaunchTemplateName) -> Result<(), PortError> {
        const NAME: &str = "RunInstances";
        let checked = |world: &mut World| world.check_run(template).map_err(|e| e.of(NAME));
        self.step((NAME, Read), "dry run", checked).await
    }

    /// DescribeInstances, sorted by id. Lags behind writes.
    pub async fn describe_instances(&self) -> Result<Vec<DescribedInstance>, PortError> {
        self.step(("DescribeInstances", Read), "", |world| Ok(world.described())).await
    }

    /// DescribeInstanceStatus: what is wrong with instances that run, sorted by id.
    pub async fn describe_instance_status(&self) -> Result<Vec<StatusReport>, PortError> {
        self.step(("DescribeInstanceStatus", Read), "", |world| Ok(world.impaired())).await
    }

    /// GetConsoleOutput: the text of the console of an instance.
    pub async fn get_console_output(&self, instance: &InstanceId) -> Result<String, PortError> {
        const NAME: &str = "GetConsoleOutput";
        self.step((NAME, Read), instance, |w| w.console(instance).map_err(|e| e.of(NAME))).await
    }

    /// DescribeRouteTables: the ways out of the one VPC.
    pub async fn describe_route_tables(&self) -> Result<Vec<WayOut>, PortError> {
        let ways = |world: &mut World| Ok(world.join_network().ways_out);
        self.step(("DescribeRouteTables", Read), "", ways).await
    }

    /// Whether security groups let instances out, and the API server's lets them in.
    pub fn security_group_rules(&self) -> (bool, bool) {
        let network = self.with(|world| world.join_network());
        (network.lets_out, network.lets_in != Some(false))
    }

    /// Whether the API server has an address in the VPC.
    pub fn has_private_endpoint(&self) -> bool {
        self.with(|world| world.join_network().is_private)
    }

    /// GetManagedResource of ARC: the zonal shifts of a cluster that are in effect.
    pub async fn managed_resource(
        &self,
        cluster: &ClusterName,
    ) -> Result<Vec<ZonalShift>, PortError> {
        const NAME: &str = "GetManagedResource";
        let shifts = |world: &mut World| world.zonal_shifts(cluster).map_err(|e| e.of(NAME));
        self.step((NAME, Read), cluster, shifts).await
    }

    /// CreateTags on instances, all of them or none.
    pub async fn create_tags(
        &self,
        instances: &[InstanceId],
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        const NAME: &str = "CreateTags";
        self.step((NAME, Write), ids(instances), |world| {
            world.known(instances).map_err(|refusal| refusal.of(NAME))?;
            for instance in instances {
                world.tag(instance, tags);
            }
            Ok(())
        })
        .await
    }

    /// RebootInstances, all of them or none.
    pub async fn reboot_instances(&self, instances: &[InstanceId]) -> Result<(), PortError> {
        const NAME: &str = "RebootInstances";
        self.step((NAME, Write), ids(instances), |world| {
            world.known(instances).map_err(|refusal| refusal.of(NAME))?;
            for instance in instances {
                world.reboot(instance);
            }
            Ok(())
        })
        .await
    }

    /// TerminateInstances, all of them or none.
    pub async fn terminate_instances(
        &self,
        instances: &[InstanceId],
    ) -> Result<Vec<StateChange>, PortError> {
        const NAME: &str = "TerminateInstances";
        self.step((NAME, Write), ids(instances), |world| {
            let previous = world.known(instances).map_err(|refusal| refusal.of(NAME))?;
            world.terminate(instances).map_err(|refusal| refusal.of(NAME))?;
            let current = world.known(instances).map_err(|refusal| refusal.of(NAME))?;
            let changes = instances.iter().zip(previous.into_iter().zip(current));
            Ok(changes
                .map(|(instance, (previous, current))| StateChange {
                    instance: instance.clone(),
                    previous,
                    current,
                })
                .collect())
        })
        .await
    }

    /// DescribeLaunchTemplates: those called `names`, or all of them when it is empty.
    pub async fn describe_launch_templates(
        &self,
        names: &[LaunchTemplateName],
    ) -> Result<Vec<TemplateRecord>, PortError> {
        const NAME: &str = "DescribeLaunchTemplates";
        self.step((NAME, Read), "", |world| {
            if names.is_empty() {
                return Ok(world.account.templates.values().cloned().collect());
            }
            let template = |name: &LaunchTemplateName| {
                let template_record = world.account.templates.get(name).cloned();
                template_record.ok_or_else(|| super::template::no_template(name).of(NAME))
            };
            names.iter().map(template).collect()
        })
        .await
    }

    /// DescribeLaunchTemplateVersions: the newest version of the one called `name`.
    pub async fn describe_launch_template_version(
        &self,
        name: &LaunchTemplateName,
    ) -> Result<TemplateRecord, PortError> {
        const NAME: &str = "DescribeLaunchTemplateVersions";
        self.step((NAME, Read), name, |world| {
            let template_record = world.template_version(name);
            template_record.ok_or_else(|| super::template::no_template(name).of(NAME))
        })
        .await
    }

    /// CreateLaunchTemplate.
    pub async fn create_launch_template(
        &self,
        new: NewTemplate,
    ) -> Result<TemplateRecord, PortError> {
        const NAME: &str = "CreateLaunchTemplate";
        let subject = new.name.clone();
        self.step((NAME, Write), subject, |w| w.create_template(new).map_err(|e| e.of(NAME))).await
    }

    /// DeleteLaunchTemplate.
    pub async fn delete_launch_template(
        &self,
        name: &LaunchTemplateName,
    ) -> Result<TemplateRecord, PortError> {
        const NAME: &str = "DeleteLaunchTemplate";
        self.step((NAME, Write), name, |w| w.delete_template(name).map_err(|e| e.of(NAME))).await
    }

    /// DescribeSubnets: those that any term selects.
    pub async fn describe_subnets(&self, terms: &[SubnetTerm]) -> Result<Vec<Subnet>, PortError> {
        self.step(("DescribeSubnets", Read), "", |world| Ok(world.subnets(terms))).await
    }

    /// DescribeSecurityGroups: those that any term selects.
    pub async fn describe_security_groups(
        &self,
        terms: &[SecurityGroupTerm],
    ) -> Result<Vec<SecurityGroup>, PortError> {
        let name = "DescribeSecurityGroups";
        self.step((name, Read), "", |world| Ok(world.security_groups(terms))).await
    }

    /// DescribeCapacityReservations, by id, those that are over among them. Lags behind launches.
    pub async fn describe_capacity_reservations(
        &self,
    ) -> Result<Vec<DescribedReservation>, PortError> {
        let name = "DescribeCapacityReservations";
        self.step((name, Read), "", |world| Ok(world.described_reservations())).await
    }

    /// DescribePlacementGroups: the one that `term` names.
    pub async fn describe_placement_group(
        &self,
        term: &PlacementGroupTerm,
    ) -> Result<PlacementGroup, PortError> {
        let name = "DescribePlacementGroups";
        self.step((name, Read), "", |world| Ok(world.placement_group(term))).await
    }

    /// DescribeImages by id; those that are not there are left out.
    pub async fn describe_images(&self, ids: &[ImageId]) -> Result<Vec<Image>, PortError> {
        self.step(("DescribeImages", Read), "", |world| Ok(world.images_by_id(ids))).await
    }

    /// DescribeImages by anything but the id.
    pub async fn search_images(&self, term: ImageTerm) -> Result<Vec<Image>, PortError> {
        self.step(("DescribeImages", Read), "", |world| Ok(world.images(&[term], ""))).await
    }

    /// DescribeSpotPriceHistory: prices that held at `from` or later, by offering, newest first.
    pub async fn spot_price_history(&self, from: Timestamp) -> Result<Vec<SpotPrice>, PortError> {
        self.step(("DescribeSpotPriceHistory", Read), "", |world| Ok(world.spot_prices(from))).await
    }

    /// What is for sale, as `operation` of EC2 or of Pricing shows it.
    pub async fn for_sale(
        &self,
        operation: &'static str,
    ) -> Result<std::sync::Arc<model::RegionCatalog>, PortError> {
        self.step((operation, Read), "", |world| Ok(std::sync::Arc::clone(&world.catalog))).await
    }

    /// GetParameter of SSM: a parameter that holds an image's id.
    pub async fn parameter(&self, name: &str) -> Result<ImageId, PortError> {
        const NAME: &str = "GetParameter";
        self.step((NAME, Read), name, |world| {
            let image_id = world.image_of_parameter(name);
            image_id.ok_or_else(|| AwsError::new("ParameterNotFound", name).of(NAME))
        })
        .await
    }

    /// DescribeCluster of EKS.
    pub async fn describe_cluster(&self, name: &ClusterName) -> Result<ClusterSettings, PortError> {
        const NAME: &str = "DescribeCluster";
        self.step((NAME, Read), name, |w| w.described_cluster(name).map_err(|e| e.of(NAME))).await
    }

    /// GetInstanceProfile of IAM.
    pub async fn get_instance_profile(&self, name: &str) -> Result<ProfileRecord, PortError> {
        const NAME: &str = "GetInstanceProfile";
        self.step((NAME, Read), name, |world| world.profile(name).map_err(|e| e.of(NAME))).await
    }

    /// ListInstanceProfiles of IAM, by name.
    pub async fn list_instance_profiles(&self) -> Result<Vec<ProfileRecord>, PortError> {
        self.step(("ListInstanceProfiles", Read), "", |world| {
            Ok(world.account.profiles.values().cloned().collect())
        })
        .await
    }

    /// CreateInstanceProfile of IAM.
    pub async fn create_instance_profile(
        &self,
        name: &str,
        path: &str,
        tags: BTreeMap<String, String>,
    ) -> Result<ProfileRecord, PortError> {
        const NAME: &str = "CreateInstanceProfile";
        self.step((NAME, Write), name, |world| {
            world.create_profile(name, path, tags).map_err(|refusal| refusal.of(NAME))
        })
        .await
    }

    /// AddRoleToInstanceProfile of IAM.
    pub async fn add_role_to_instance_profile(
        &self,
        name: &str,
        role: &str,
    ) -> Result<(), PortError> {
        const NAME: &str = "AddRoleToInstanceProfile";
        self.step((NAME, Write), name, |w| w.add_role(name, role).map_err(|e| e.of(NAME))).await
    }

    /// RemoveRoleFromInstanceProfile of IAM.
    pub async fn remove_role_from_instance_profile(
        &self,
        name: &str,
        role: &str,
    ) -> Result<(), PortError> {
        const NAME: &str = "RemoveRoleFromInstanceProfile";
        self.step((NAME, Write), name, |w| w.remove_role(name, role).map_err(|e| e.of(NAME))).await
    }

    /// DeleteInstanceProfile of IAM.
    pub async fn delete_instance_profile(&self, name: &str) -> Result<(), PortError> {
        const NAME: &str = "DeleteInstanceProfile";
        self.step((NAME, Write), name, |w| w.delete_profile(name).map_err(|e| e.of(NAME))).await
    }

    /// What EC2 told about instances so far, from the `from`th event on, oldest first.
    pub fn events(&self, from: usize) -> Vec<Interruption> {
        self.with(|world| world.account.events.get(from..).unwrap_or_default().to_vec())
    }
}

impl World {
    fn described(&self) -> Vec<DescribedInstance> {
        let seen = later(self.now, -self.settings.listing_lag);
        let kept = self.settings.terminated_listed_for;
        let records = self.account.instances.values();
        records
            .filter_map(|record| {
                let tag = |key: &String| Some((key.clone(), record.tag_at(key, seen)?.to_owned()));
                Some(DescribedInstance {
                    instance: record.described_at(seen, self.now, kept)?,
                    tags: record.tags.keys().filter_map(tag).collect(),
                    token: record.token.to_string(),
                    preference: record.preference.clone(),
                    reservation: record.held_at(seen).cloned(),
                    instance_profile: self.profile_of(record),
                })
            })
            .collect()
    }

    /// The states of `instances`; one that is not known refuses the call.
    pub(crate) fn known(&self, instances: &[InstanceId]) -> Result<Vec<InstanceState>, AwsError> {
        let records = &self.account.instances;
        let state = |id: &InstanceId| records.get(id).map(super::InstanceRecord::state);
        let unknown: Vec<&str> =
            instances.iter().filter(|id| state(id).is_none()).map(InstanceId::as_str).collect();
        if unknown.is_empty() {
            return Ok(instances.iter().filter_map(state).collect());
        }
        let text = match unknown.as_slice() {
            [one] => format!("The instance ID '{one}' does not exist"),
            many => format!("The instance IDs '{}' do not exist", many.join(", ")),
        };
        Err(AwsError::new("InvalidInstanceID.NotFound", text))
    }
}

fn ids(instances: &[InstanceId]) -> String {
    let ids: Vec<&str> = instances.iter().map(InstanceId::as_str).collect();
    ids.join(" ")
}
