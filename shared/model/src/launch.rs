//! Requests to EC2 in the domain's words, and what became of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;

use crate::{
    BatchId, CapacityType, HourlyPrice, ImageId, InstanceId, InstanceTypeName, LaunchTemplateName,
    LedgerId, NodeClaimName, NodeClassName, NodePoolName, OfferingKey, PlacementGroupId,
    ReservationId, SecurityGroupId, SubnetId, Zone,
    ledger::Shortage,
    node_class::{BlockDevice, ConnectionTracking, MetadataOptions},
};

/// A launch template: what every instance from it has in common. Its name is a digest of the rest,
/// so one that exists never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchTemplate {
    /// `karpenter.k8s.aws/<decimal digest>`
    pub name: LaunchTemplateName,
    /// What it is made of.
    pub data: LaunchTemplateData,
    /// Tags of the launch template itself.
    pub tags: BTreeMap<String, String>,
}

/// The content of a launch template, with EC2's words.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RequestLaunchTemplateData.html>
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of EC2's own")]
pub struct LaunchTemplateData {
    /// `ImageId`
    pub image: ImageId,
    /// `UserData` before base64
    pub user_data: String,
    /// `IamInstanceProfile.Name`
    pub instance_profile: String,
    /// `BlockDeviceMappings`
    pub block_devices: Vec<BlockDevice>,
    /// `MetadataOptions`
    pub metadata_options: MetadataOptions,
    /// Whether `MetadataOptions.HttpProtocolIpv6` is sent: some regions refuse it.
    pub sends_http_protocol_ipv6: bool,
    /// `Monitoring.Enabled`
    pub detailed_monitoring: bool,
    /// `NetworkInterfaces`; never empty.
    pub interfaces: Vec<Interface>,
    /// Of every network interface: `Groups`
    pub security_groups: Vec<SecurityGroupId>,
    /// Of interfaces with addresses: `AssociatePublicIpAddress`
    pub associate_public_ip_address: Option<bool>,
    /// Of interfaces with addresses: `Ipv4PrefixCount` or, in an IPv6 cluster, `Ipv6PrefixCount`
    pub ip_prefix_count: Option<u32>,
    /// Whether the cluster's addresses are IPv6: one primary IPv6 address for each interface with
    /// addresses.
    pub is_ipv6: bool,
    /// Of interfaces with addresses: `ConnectionTrackingSpecification`
    pub connection_tracking: Option<ConnectionTracking>,
    /// `CpuOptions.NestedVirtualization`
    pub nested_virtualization: Option<bool>,
    /// `EnclaveOptions.Enabled`
    pub runs_enclaves: bool,
    /// `Placement.Tenancy`
    pub tenancy: String,
    /// `Placement.GroupId` and `Placement.PartitionNumber`
    pub placement_group: Option<PlacementGroupPlacement>,
    /// `CapacityReservationSpecification` and `InstanceMarketOptions`. Without one, instances are
    /// kept out of open reservations.
    pub reservation: Option<ReservationTarget>,
    /// Tags of network interfaces and, for spot, of spot instance requests.
    pub tags: BTreeMap<String, String>,
    /// Whether spot instance requests are tagged.
    pub is_spot: bool,
}

/// One network interface of a launch template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interface {
    /// `NetworkCardIndex`
    pub card: Option<u32>,
    /// `DeviceIndex`
    pub device: u32,
    /// `InterfaceType`
    pub kind: Option<InterfaceKind>,
}

impl Interface {
    /// The one that every instance has.
    pub const ONLY: Self = Self { card: None, device: 0, kind: None };
}

/// The kind of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterfaceKind {
    /// An ordinary one.
    Interface,
    /// With an Elastic Fabric Adapter beside.
    Efa,
    /// An Elastic Fabric Adapter without addresses.
    EfaOnly,
}

impl InterfaceKind {
    /// EC2's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interface => "interface",
            Self::Efa => "efa",
            Self::EfaOnly => "efa-only",
        }
    }
}

/// Where in a placement group instances go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacementGroupPlacement {
    /// `pg-…`
    pub group: PlacementGroupId,
    /// Of a group with partitions.
    pub partition: Option<u32>,
}

/// The capacity reservation that instances are launched into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReservationTarget {
    /// `cr-…`
    pub id: ReservationId,
    /// How it is bought.
    pub market: ReservationMarket,
}

/// How capacity of a reservation is bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReservationMarket {
    /// On demand.
    #[default]
    OnDemand,
    /// A capacity block.
    CapacityBlock,
    /// A reservation whose owner may take instances back.
    Interruptible,
}

/// One thing EC2 may choose: what, where, at which expected price.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FleetOverride {
    /// The instance type.
    pub instance_type: InstanceTypeName,
    /// The zone, so that errors can be told apart.
    pub zone: Zone,
    /// The subnet in that zone.
    pub subnet: SubnetId,
    /// The image that starts on the type.
    pub image: ImageId,
    /// Expected price for an hour; sent as priority.
    pub price: HourlyPrice,
}

/// Which version of a launch template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplateVersion {
    /// The newest: of those that are made here there is only one.
    Latest,
    /// This one.
    Number(u64),
}

impl TemplateVersion {
    /// Its number, where one is named.
    pub const fn number(self) -> Option<u64> {
        match self {
            Self::Latest => None,
            Self::Number(number) => Some(number),
        }
    }
}

impl fmt::Display for TemplateVersion {
    /// As EC2 takes it: `$Latest`, or the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("$Latest"),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// A launch template with what may be launched from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetTemplate {
    /// The template.
    pub template: LaunchTemplateName,
    /// Its version.
    pub version: TemplateVersion,
    /// Never empty.
    pub overrides: Vec<FleetOverride>,
}

/// One CreateFleet request of type `instant`.
///
/// Idempotent by `token`: repeating it returns the same instances.
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html>
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetRequest {
    /// `ClientToken`
    pub token: BatchId,
    /// `TotalTargetCapacity`: one instance for each claim of the batch.
    pub count: u32,
    /// `DefaultTargetCapacityType`
    pub capacity_type: CapacityType,
    /// Of a reserved launch: how its reservations are bought.
    pub market: ReservationMarket,
    /// Whether prices come from a NodeOverlay and are to be followed strictly.
    pub is_prioritized: bool,
    /// `Context`
    pub context: Option<String>,
    /// `LaunchTemplateConfigs`
    pub templates: Vec<FleetTemplate>,
    /// Tags of instances, volumes and the fleet.
    pub tags: BTreeMap<String, String>,
}

/// One RunInstances request for one instance. It is only ever tried: nodes come from fleets.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html>
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// `LaunchTemplate`
    pub template: LaunchTemplateName,
    /// Its version.
    pub version: TemplateVersion,
    /// `InstanceType`
    pub instance_type: InstanceTypeName,
    /// `SubnetId`: of its network interface, if its launch template has some.
    pub subnet: SubnetId,
    /// Of its network interface: `Groups`; empty where the launch template has groups and no network
    /// interface.
    pub security_groups: Vec<SecurityGroupId>,
    /// Tags of instances and volumes.
    pub tags: BTreeMap<String, String>,
}

/// An instance that a fleet request brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetInstance {
    /// Its id.
    pub id: InstanceId,
    /// Its type.
    pub instance_type: InstanceTypeName,
    /// Its zone.
    pub zone: Zone,
    /// Its image.
    pub image: ImageId,
}

/// Why EC2 did not launch from an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetError {
    /// EC2's code, such as `InsufficientInstanceCapacity`.
    pub code: String,
    /// EC2's text.
    pub message: String,
    /// The override, where EC2 says which.
    pub instance_type: Option<InstanceTypeName>,
    /// The override's zone.
    pub zone: Option<Zone>,
}

impl FleetError {
    /// Whether the override's launch template is not there.
    ///
    /// Karpenter: `pkg/errors/errors.go`, `launchTemplateNameNotFoundCode`.
    pub fn is_template_missing(&self) -> bool {
        matches!(
            self.code.as_str(),
            "InvalidLaunchTemplateName.NotFoundException" | "InvalidLaunchTemplateId.NotFound"
        )
    }

    /// Whether the override's subnet has no address left.
    ///
    /// Karpenter: `pkg/errors/errors.go`, `unfulfillableCapacityErrorCodes` and `IsSubnetFull`.
    pub fn is_without_addresses(&self) -> bool {
        self.code == "InsufficientFreeAddressesInSubnet"
    }
}

/// What became of a fleet request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetAnswer {
    /// Sorted by id, at most as many as asked for.
    pub instances: Vec<FleetInstance>,
    /// For overrides that brought nothing.
    pub errors: Vec<FleetError>,
}

/// The state of an instance in EC2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceState {
    /// Starting.
    Pending,
    /// Running.
    Running,
    /// Stopping or stopped.
    Stopped,
    /// Shutting down: it cannot come back.
    ShuttingDown,
    /// Gone, still listed for a while.
    Terminated,
}

/// An instance as EC2 describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Its state.
    pub state: InstanceState,
    /// Why it is stopped or ended, as `Client.UserInitiatedShutdown: User initiated shutdown`; `None` where EC2 does
    /// not say so.
    ///
    /// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html>
    pub state_reason: Option<String>,
    /// Its type.
    pub instance_type: InstanceTypeName,
    /// Its zone.
    pub zone: Zone,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// Its image.
    pub image: ImageId,
    /// Its subnet; `None` once it is terminated.
    pub subnet: Option<SubnetId>,
    /// Its security groups; none once it is terminated.
    pub security_groups: BTreeSet<SecurityGroupId>,
    /// When it was launched.
    pub launched_at: Timestamp,
    /// The capacity reservation behind an instance of capacity type `reserved`.
    pub reservation: Option<ReservationId>,
    /// Whether its tags give it a name.
    pub is_named: bool,
    /// The pool in its tags.
    pub node_pool: Option<NodePoolName>,
    /// The EC2NodeClass in its tags.
    pub node_class: Option<NodeClassName>,
    /// The ledger in its tags.
    pub ledger: Option<LedgerId>,
    /// The claim in its tags.
    pub node_claim: Option<NodeClaimName>,
    /// The batch in its tags.
    pub batch: Option<BatchId>,
}

/// What to do about a failed override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetReaction {
    /// The offerings have no capacity: they are unavailable.
    MarkUnavailable(BTreeSet<OfferingKey>),
    /// Something is short for this launch, and perhaps for no other.
    MarkShort(BTreeSet<Shortage>),
    /// Asking again later may help; the text says what was in the way.
    Retry(String),
    /// It never works as asked; the text says why.
    Refuse(String),
}
