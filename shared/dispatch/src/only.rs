//! The world as one function may touch it.

use std::{
    collections::{BTreeMap, BTreeSet},
    marker::PhantomData,
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    BatchId, Bytes, ClusterName, Function, HourlyPrice, ImageId, InstanceId, InstanceTypeInfo,
    InstanceTypeName, LaunchTemplateName, LedgerId, NodeClaim, NodeClaimName, NodeClassName,
    NodeName, NodePoolName, OfferingKey, Plan, Pod, SubnetId, Zone, ZoneId,
    claim::SyncedNodeClaim,
    event::ObjectEvent,
    facts::{DaemonSet, Facts},
    instance_type_info::StoredRegionCatalog,
    interruption::{StatusProblem, StatusReport},
    join::{JoinImage, JoinNetwork, JoiningInstance, NodeAccess},
    launch::{FleetAnswer, FleetRequest, Instance, LaunchTemplate, RunRequest},
    lease::{LedgerLease, ObservedLeases},
    ledger::{
        Commit, CommitOutcome, Decision, Guard, Head, LaunchRefusals, MeasuredKey, Snapshot,
        WriteOutcome,
    },
    message::Delivery,
    node::{Eviction, EvictionRequest, Node, NodePatch},
    node_class::{
        CapacityReservation, ClusterSettings, DescribedTemplate, Image, ImageTerm, InstanceProfile,
        ListedNodeClass, NodeClassStatus, ObservedNodeClass, PlacementGroup, PlacementGroupTerm,
        ReservationTerm, SecurityGroup, SecurityGroupTerm, Subnet, SubnetTerm,
    },
    node_pool::{NodePool, NodePoolStatus, ObservedNodePool, Registrations},
    policies::Policies,
    pulse::Pulse,
    recorded::Question,
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
    validation::{DryRunAnswer, Validation},
    zonal_shift::ZonalShift,
};
use ports::{Fault, Listing, PodSelection, PortError, Surrounded};

use crate::World;

/// A function as a type.
pub(crate) trait Caller {
    /// Which one.
    const FUNCTION: Function;
}

macro_rules! callers {
    ($($name:ident)*) => { $(
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl Caller for $name {
            const FUNCTION: Function = Function::$name;
        }
    )* };
}

callers!(Provision Interrupt Disrupt Launch Settle Drain Resolve Sweep Catalog);

/// The ports of a world for the function `F`. A call that is not among
/// [`handlers::calls`] of that function does not compile, wherever in the handler it is made: the
/// compiler makes code for whatever a handler may reach, and only for that.
#[derive(Debug)]
pub(crate) struct Only<F, W> {
    world: W,
    function: PhantomData<F>,
}

impl<F, W: World> Only<F, W> {
    pub(crate) fn new(world: &W) -> Self {
        Self { world: world.clone(), function: PhantomData }
    }
}

/// Ends the build where the function of a handler has no right to a call of a port.
macro_rules! check {
    ($function:expr, $call:expr) => {
        const {
            assert!(
                handlers::makes($function, $call),
                concat!("a call that is not among `handlers::calls` of its function: ", $call)
            );
        }
    };
}

macro_rules! only {
    ($side:ident: $($port:ident {
        $(fn $call:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*
    })*) => { $(
        impl<F: Caller, W: World> ports::$port for Only<F, W> {
            $(async fn $call(&self, $($argument: $kind),*) -> Result<$answer, PortError> {
                check!(F::FUNCTION, concat!(stringify!($port), ".", stringify!($call)));
                ports::$port::$call(self.world.$side(), $($argument),*).await
            })*
        }
    )* };
}

only! {
    account:
    Catalog {
        fn catalog() -> Arc<model::RegionCatalog>;
    }
    Market {
        fn instance_types() -> Vec<InstanceTypeInfo>;
        fn zones() -> BTreeMap<Zone, ZoneId>;
        fn offered() -> BTreeMap<InstanceTypeName, BTreeSet<Zone>>;
        fn on_demand() -> BTreeMap<InstanceTypeName, HourlyPrice>;
        fn spot(now: Timestamp) -> BTreeMap<(InstanceTypeName, Zone), HourlyPrice>;
    }
    CatalogStore {
        fn stored() -> Option<StoredRegionCatalog>;
        fn put(stored: &StoredRegionCatalog) -> ();
    }
    Discovery {
        fn subnets(terms: &[SubnetTerm]) -> Vec<Subnet>;
        fn free_addresses(subnets: &BTreeSet<SubnetId>) -> BTreeMap<SubnetId, u32>;
        fn security_groups(terms: &[SecurityGroupTerm]) -> Vec<SecurityGroup>;
        fn reservations(terms: &[ReservationTerm]) -> Vec<CapacityReservation>;
        fn placement_group(term: &PlacementGroupTerm) -> Option<PlacementGroup>;
        fn images(terms: &[ImageTerm], kubernetes_version: &str) -> Vec<Image>;
        fn launch_template(name: &LaunchTemplateName) -> Option<DescribedTemplate>;
        fn cluster_settings(cluster: &ClusterName) -> ClusterSettings;
        fn zonal_shifts(cluster: &ClusterName) -> Vec<ZonalShift>;
    }
    Templates {
        fn ensure(template: &LaunchTemplate) -> ();
        fn dry_run(template: &LaunchTemplate) -> DryRunAnswer;
        fn list(cluster: &ClusterName) -> BTreeMap<LaunchTemplateName, Timestamp>;
        fn remove(name: &LaunchTemplateName) -> ();
    }
    Profiles {
        fn ensure(path: &str, name: &str, role: &str, tags: &BTreeMap<String, String>) -> ();
        fn list(path: &str) -> Vec<InstanceProfile>;
        fn remove(name: &str) -> ();
    }
    Fleet {
        fn launch(request: &FleetRequest) -> FleetAnswer;
        fn dry_run(request: &FleetRequest) -> DryRunAnswer;
        fn dry_run_instance(request: &RunRequest) -> DryRunAnswer;
        fn describe(instances: &[InstanceId]) -> Vec<Instance>;
        fn of_batch(cluster: &ClusterName, batch: &BatchId) -> Vec<Instance>;
        fn list(cluster: &ClusterName) -> Vec<Instance>;
        fn impaired() -> Vec<StatusReport>;
        fn tag(instance: &InstanceId, tags: &BTreeMap<String, String>) -> ();
        fn reboot(instance: &InstanceId) -> ();
        fn terminate(instances: &[InstanceId]) -> ();
    }
    Forensics {
        fn console(instance: &InstanceId) -> String;
        fn checks(instance: &InstanceId) -> Vec<StatusProblem>;
        fn instance(instance: &InstanceId) -> JoiningInstance;
        fn access(cluster: &ClusterName, instance: &JoiningInstance) -> NodeAccess;
        fn network(cluster: &ClusterName, instance: &JoiningInstance) -> JoinNetwork;
        fn image(image: &ImageId) -> Option<JoinImage>;
    }
    Ledger {
        fn head(cluster: &ClusterName) -> Head;
        fn open(cluster: &ClusterName, replaced: Option<&LedgerId>) -> Head;
        fn put_guard(cluster: &ClusterName, ledger: &LedgerId, guard: &Guard) -> WriteOutcome;
        fn put_shifted_zones(
            cluster: &ClusterName,
            ledger: &LedgerId,
            zones: &BTreeMap<Zone, Timestamp>
        ) -> WriteOutcome;
        fn snapshot(cluster: &ClusterName) -> Snapshot;
        fn commit(cluster: &ClusterName, commit: &Commit) -> CommitOutcome;
        fn claims_of_instances(instances: &[InstanceId]) -> Vec<(ClusterName, NodeClaim)>;
        fn write_claim(cluster: &ClusterName, claim: &NodeClaim) -> WriteOutcome;
        fn write_claims(cluster: &ClusterName, claims: &[NodeClaim]) -> WriteOutcome;
        fn remove_claim(cluster: &ClusterName, claim: &NodeClaim) -> WriteOutcome;
        fn withdraw_claims(cluster: &ClusterName, claims: &[NodeClaim]) -> WriteOutcome;
        fn mark_unavailable(offerings: &[(OfferingKey, Timestamp)]) -> ();
        fn measure(cluster: &ClusterName, key: &MeasuredKey, memory: Bytes, until: Timestamp) -> ();
        fn put_refusals(
            cluster: &ClusterName,
            pool: &NodePoolName,
            refusals: Option<&LaunchRefusals>
        ) -> ();
        fn registrations(cluster: &ClusterName) -> BTreeMap<NodePoolName, Registrations>;
        fn put_registrations(
            cluster: &ClusterName,
            pool: &NodePoolName,
            registrations: &Registrations
        ) -> WriteOutcome;
        fn pulse(cluster: &ClusterName, function: Function) -> Pulse;
        fn write_pulse(
            cluster: &ClusterName,
            function: Function,
            from: u64,
            pulse: &Pulse
        ) -> WriteOutcome;
        fn validation(cluster: &ClusterName, class: &NodeClassName) -> Option<Validation>;
        fn put_validation(cluster: &ClusterName, class: &NodeClassName, validation: &Validation) -> ();
        fn put_decisions(cluster: &ClusterName, decisions: &[Decision]) -> ();
        fn put_facts(
            cluster: &ClusterName,
            number: u64,
            question: &Question,
            facts: &Facts,
            plan: &Plan
        ) -> ();
    }
}

only! {
    cluster:
    Cluster {
        fn nodes() -> Listing<Node>;
        fn node_pools() -> Listing<NodePool>;
        fn node_classes() -> Listing<ListedNodeClass>;
        fn daemon_sets() -> Listing<DaemonSet>;
        fn surroundings(policies: &Policies) -> Surrounded;
        fn pods(selection: &PodSelection) -> Listing<Pod>;
        fn volume_attachments() -> Listing<VolumeAttachment>;
        fn volume_claim(key: &VolumeClaimKey) -> Option<VolumeClaim>;
    }
    Events {
        fn publish(event: &ObjectEvent, now: Timestamp) -> ();
    }
    Nodes {
        fn node(name: &NodeName) -> Option<Node>;
        fn uninitialized() -> Listing<Node>;
        fn pods_on(node: &NodeName) -> Listing<Pod>;
        fn patch(node: &NodeName, patch: &NodePatch) -> ();
        fn evict(eviction: &EvictionRequest) -> Eviction;
        fn delete(node: &NodeName) -> ();
    }
    NodeClasses {
        fn observed_classes() -> Listing<ObservedNodeClass>;
        fn update_class_status(seen: &ObservedNodeClass, status: &NodeClassStatus) -> ();
    }
    NodePools {
        fn observed_pools() -> Listing<ObservedNodePool>;
        fn update_pool_status(seen: &ObservedNodePool, status: &NodePoolStatus) -> ();
    }
    Leases {
        fn leases() -> ObservedLeases;
        fn hold(lease: &LedgerLease) -> ();
    }
    NodeClaims {
        fn synced() -> Listing<SyncedNodeClaim>;
        fn objects() -> Listing<NodeClaim>;
        fn take_over(claim: &NodeClaimName) -> ();
        fn sync(claim: &NodeClaim) -> ();
        fn remove(claim: &NodeClaimName) -> ();
    }
}

impl<F: Caller, W: World> ports::Clock for Only<F, W> {
    fn now(&self) -> Timestamp {
        self.world.account().now()
    }

    async fn wait_until(&self, time: Timestamp) {
        ports::Clock::wait_until(self.world.account(), time).await;
    }
}

impl<F: Caller, W: World> ports::Mailbox for Only<F, W> {
    async fn send(&self, deliveries: &[Delivery]) -> Result<(), PortError> {
        check!(F::FUNCTION, "Mailbox.send");
        let function = F::FUNCTION;
        let allowed = handlers::receivers(function);
        let receivers = deliveries.iter().map(|delivery| delivery.message.function());
        match receivers.into_iter().find(|receiver| !allowed.contains(receiver)) {
            None => ports::Mailbox::send(self.world.account(), deliveries).await,
            Some(receiver) => {
                let why =
                    format!("`{receiver}` is not among `handlers::receivers` of `{function}`");
                Err(PortError::because("send messages", Fault::Permanent, why))
            }
        }
    }
}
