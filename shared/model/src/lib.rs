//! The words that everything else is written in.
//!
//! Values only: no IO, no clock, no serialization, no floats for money. What is stored or sent is
//! a type of the crate `wire` or `api`, so that no wire format freezes these.

pub mod api_version;
pub mod buffer;
pub mod catalog;
pub mod claim;
pub mod condition;
pub mod default_spread;
pub mod disruption;
pub mod duration;
pub mod dynamic_resources;
pub mod event;
pub mod eviction;
pub mod facts;
pub mod function;
pub mod id;
pub mod image_alias;
pub mod instance_type_info;
pub mod interruption;
pub mod join;
pub mod labels;
pub mod launch;
pub mod lease;
pub mod ledger;
pub mod limits;
pub mod message;
pub mod node;
pub mod node_class;
pub mod node_pool;
pub mod overlay;
pub mod plan;
pub mod pod;
pub mod policies;
pub mod price;
pub mod problem;
pub mod protection;
pub mod pulse;
pub mod quantity;
pub mod recorded;
pub mod repair;
pub mod requirement;
pub mod requirements;
pub mod resources;
pub mod rollout;
pub mod schedule;
pub mod selector;
pub mod static_hash;
pub mod storage;
pub mod taint;
pub mod topology;
pub mod validation;
pub mod values;
pub mod wake;
pub mod words;
pub mod zonal_shift;

pub use catalog::{CapacityType, InstanceType, Offering, OfferingKey, RegionCatalog, Reservation};
pub use claim::{ClaimPhase, DeletionReason, NodeClaim};
pub use condition::{Condition, ConditionKind, ConditionReason};
pub use function::Function;
pub use id::{
    BatchId, ClusterName, CommandId, CommitId, ImageId, InstanceId, InstanceTypeName, LabelKey,
    LaunchTemplateName, LedgerId, Namespace, NodeClaimName, NodeClassName, NodeName, NodePoolName,
    ObjectName, PlacementGroupId, PodUid, ProviderId, ReservationId, ResourceName, SecurityGroupId,
    SubnetId, Zone, ZoneId,
};
pub use instance_type_info::InstanceTypeInfo;
pub use plan::Plan;
pub use pod::{Pod, PodKey, PodSpec};
pub use price::{HOURS_PER_MONTH, HourlyPrice};
pub use problem::Problem;
pub use quantity::{Bytes, Millicores, Quantity};
pub use requirement::{Operator, Requirement};
pub use requirements::Requirements;
pub use resources::Resources;
pub use schedule::{CronSchedule, InvalidSchedule};
pub use taint::{Taint, TaintEffect, Toleration};
pub use values::Values;
