//! AWS.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    ClusterName, Function, HourlyPrice, ImageId, InstanceId, InstanceTypeInfo, InstanceTypeName,
    LaunchTemplateName, SubnetId, Zone, ZoneId,
    instance_type_info::StoredRegionCatalog,
    interruption::{StatusProblem, StatusReport},
    join::{JoinImage, JoinNetwork, JoiningInstance, NodeAccess},
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

use crate::{PortError, port::ports};

ports! {
    /// What can be bought.
    pub trait Catalog in account {
        /// Instance types with offerings and prices of the region.
        async fn catalog(&self) -> Result<std::sync::Arc<model::RegionCatalog>, PortError>;
    }

    /// What EC2 and its price list say about what is sold in the region.
    pub trait Market in account {
        /// Instance types, without what no call answers.
        async fn instance_types(&self) -> Result<Vec<InstanceTypeInfo>, PortError>;
        /// Zones and their ids.
        async fn zones(&self) -> Result<BTreeMap<Zone, ZoneId>, PortError>;
        /// In which zones each type is sold.
        async fn offered(&self) -> Result<BTreeMap<InstanceTypeName, BTreeSet<Zone>>, PortError>;
        /// On-demand prices.
        async fn on_demand(&self) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError>;
        /// Spot prices at `now`.
        async fn spot(
            &self,
            now: Timestamp,
        ) -> Result<BTreeMap<(InstanceTypeName, Zone), HourlyPrice>, PortError>;
    }

    /// Where what is sold is stored for those who decide.
    pub trait CatalogStore in account {
        /// What was put there last, if anything was.
        async fn stored(&self) -> Result<Option<StoredRegionCatalog>, PortError>;
        /// Replaces it. Repeating it changes nothing.
        async fn put(&self, stored: &StoredRegionCatalog) -> Result<(), PortError>;
    }

    /// What selectors of EC2NodeClasses name. Empty answers are answers.
    pub trait Discovery in account {
        /// Subnets that any term selects, sorted by id, each once.
        async fn subnets(&self, terms: &[SubnetTerm]) -> Result<Vec<Subnet>, PortError>;
        /// How many addresses are free in each of `subnets`. One that is gone is left out.
        async fn free_addresses(
            &self,
            subnets: &BTreeSet<SubnetId>,
        ) -> Result<BTreeMap<SubnetId, u32>, PortError>;
        /// Security groups that any term selects, sorted by id, each once.
        async fn security_groups(
            &self,
            terms: &[SecurityGroupTerm],
        ) -> Result<Vec<SecurityGroup>, PortError>;
        /// Active capacity reservations that any term selects, sorted by id, each once. Which of them
        /// end too soon is for the caller to say: nothing here knows the time.
        async fn reservations(
            &self,
            terms: &[ReservationTerm],
        ) -> Result<Vec<CapacityReservation>, PortError>;
        /// The placement group that `term` names, if it is available.
        async fn placement_group(
            &self,
            term: &PlacementGroupTerm,
        ) -> Result<Option<PlacementGroup>, PortError>;
        /// Images that any term selects, newest first. `kubernetes_version` is for aliases.
        async fn images(
            &self,
            terms: &[ImageTerm],
            kubernetes_version: &str,
        ) -> Result<Vec<Image>, PortError>;
        /// The newest version of the launch template called `name`, if there is such a one.
        async fn launch_template(
            &self,
            name: &LaunchTemplateName,
        ) -> Result<Option<DescribedTemplate>, PortError>;
        /// The zonal shifts of the cluster that are in effect, sorted. `NotFound` where zonal shift is not enabled for
        /// it.
        async fn zonal_shifts(&self, cluster: &ClusterName) -> Result<Vec<ZonalShift>, PortError>;
        /// What nodes need to know about the cluster.
        async fn cluster_settings(&self, cluster: &ClusterName) -> Result<ClusterSettings, PortError>;
    }

    /// Launch templates.
    pub trait Templates in account {
        /// Makes the launch template unless one of its name exists. The name is a digest of its
        /// content, so one that exists is the one that is wanted.
        async fn ensure(&self, template: &LaunchTemplate) -> Result<(), PortError>;
        /// Has EC2 check whether the launch template could be made. Nothing is made, and nothing is
        /// tried twice: throttling is `Transient`.
        async fn dry_run(&self, template: &LaunchTemplate) -> Result<DryRunAnswer, PortError>;
        /// The launch templates that were made for `cluster`, by name, and when: none of the user's own,
        /// however they are tagged. May lag a change.
        async fn list(
            &self,
            cluster: &ClusterName,
        ) -> Result<BTreeMap<LaunchTemplateName, Timestamp>, PortError>;
        /// Deletes the launch template; one that is gone was deleted.
        async fn remove(&self, name: &LaunchTemplateName) -> Result<(), PortError>;
    }

    /// Instance profiles.
    pub trait Profiles in account {
        /// Makes the instance profile `name` below `path` with the one role `role` unless it is so
        /// already.
        async fn ensure(
            &self,
            path: &str,
            name: &str,
            role: &str,
            tags: &BTreeMap<String, String>,
        ) -> Result<(), PortError>;
        /// The instance profiles whose path begins with `path`, sorted by name. May lag a change.
        async fn list(&self, path: &str) -> Result<Vec<InstanceProfile>, PortError>;
        /// Takes the role out of the instance profile `name` and deletes it; one that is gone was
        /// deleted.
        async fn remove(&self, name: &str) -> Result<(), PortError>;
    }

    /// Instances.
    pub trait Fleet in account {
        /// Launches instances. Idempotent by the request's token: repeating it brings the same ones.
        /// `Conflict` when the token was taken for a request with another content (EC2's
        /// `IdempotentParameterMismatch`): what that one brought is found by [`Fleet::of_batch`].
        /// A launch template that is not there is `NotFound`, with its name
        /// in the error's text.
        async fn launch(&self, request: &FleetRequest) -> Result<FleetAnswer, PortError>;
        /// Has EC2 check a launch. Nothing is launched, the token stays unused, and nothing is tried
        /// twice: throttling is `Transient`. A launch template that is not there is `NotFound`.
        async fn dry_run(&self, request: &FleetRequest) -> Result<DryRunAnswer, PortError>;
        /// Has EC2 check the launch of one instance, in the same way.
        async fn dry_run_instance(&self, request: &RunRequest) -> Result<DryRunAnswer, PortError>;
        /// Describes the instances that are still known, sorted by id. May lag a launch.
        async fn describe(&self, instances: &[InstanceId]) -> Result<Vec<Instance>, PortError>;
        /// The instances that were launched for a batch, terminated ones among them as long as EC2
        /// knows them, sorted by id. Found by their tag [`model::labels::BATCH_TAG`]; may lag a launch.
        async fn of_batch(
            &self,
            cluster: &ClusterName,
            batch: &model::BatchId,
        ) -> Result<Vec<Instance>, PortError>;
        /// The instances of `cluster` that are not terminated, sorted by id. May lag a launch.
        async fn list(&self, cluster: &ClusterName) -> Result<Vec<Instance>, PortError>;
        /// Running instances of the whole account whose checks fail, and those that EC2 will reboot, maintain,
        /// retire or stop; sorted, one report for each problem. Of disks that are attached nothing is said.
        async fn impaired(&self) -> Result<Vec<StatusReport>, PortError>;
        /// Sets tags of an instance. Repeating it changes nothing. `Permanent` with `UnauthorizedOperation` where the
        /// role may not: that of `settle` gives an instance a name that has none, and changes none.
        async fn tag(
            &self,
            instance: &InstanceId,
            tags: &BTreeMap<String, String>,
        ) -> Result<(), PortError>;
        /// Reboots an instance. Asking twice may reboot it twice: the caller has noted the boot that ends before.
        /// `NotFound` for an instance that is gone.
        async fn reboot(&self, instance: &InstanceId) -> Result<(), PortError>;
        /// Terminates instances; those that are gone were terminated.
        async fn terminate(&self, instances: &[InstanceId]) -> Result<(), PortError>;
    }

    /// What can be seen of an instance whose node does not join. Everything here only reads, and is asked seldom: by
    /// one function, for few instances at a time, and of each every five minutes at most.
    pub trait Forensics in account {
        /// What its console says: the latest 64 KB that EC2 has, as text. Empty where EC2 has none yet, and minutes old
        /// where the hypervisor does not tell the latest. `NotFound` for an instance that is gone.
        ///
        /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html>
        async fn console(&self, instance: &InstanceId) -> Result<String, PortError>;
        /// Which of EC2's checks of it fail; none while it does not run.
        ///
        /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html>
        async fn checks(&self, instance: &InstanceId) -> Result<Vec<StatusProblem>, PortError>;
        /// What it was launched with: what the following calls need. `NotFound` for an instance that is gone.
        ///
        /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html>
        async fn instance(&self, instance: &InstanceId) -> Result<JoiningInstance, PortError>;
        /// Whether `cluster` has an access entry for the role of `instance`, and of which type.
        ///
        /// <https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeAccessEntry.html>
        async fn access(
            &self,
            cluster: &ClusterName,
            instance: &JoiningInstance,
        ) -> Result<NodeAccess, PortError>;
        /// What lies between `instance` and the API server of `cluster`: routes and security groups. What network
        /// ACLs and firewalls do is not among it.
        ///
        /// <https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html>
        async fn network(
            &self,
            cluster: &ClusterName,
            instance: &JoiningInstance,
        ) -> Result<JoinNetwork, PortError>;
        /// What `image` is for; `None` where EC2 knows it no longer.
        ///
        /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Image.html>
        async fn image(&self, image: &ImageId) -> Result<Option<JoinImage>, PortError>;
    }

    /// Queues.
    pub trait Mailbox in mailbox {
        /// Sends messages, each to its function, at least once. Repeating it sends it again, which is
        /// harmless: see [`model::message`].
        async fn send(&self, deliveries: &[Delivery]) -> Result<(), PortError>;
        /// Has Lambda call `function`, which has no queue, as [`Signal::Called`](model::pulse::Signal::Called): at once,
        /// beside the caller, and at most once or twice. Repeating it calls again, which costs a pass.
        async fn call(&self, cluster: &ClusterName, function: Function) -> Result<(), PortError>;
    }
}
