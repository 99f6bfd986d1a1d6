//! Dynamic resource allocation: which devices the claims of a pod would get on a node.
//!
//! A pure, synchronous simulation of what Karpenter 1.15 simulates (`pkg/scheduling/dynamicresources`) before it
//! launches a node: kube-scheduler allocates the devices, once the node is there.
//!
//! # How a planner calls it
//!
//! Once for a pass: [`Devices::new`] from [`DeviceFacts`](model::dynamic_resources::DeviceFacts), with [`CelSelectors`].
//! Once for each simulation: [`Devices::begin`], with the nodes
//! and pods that it supposes to leave. A pod without claims never comes here. For one with claims:
//!
//! 1. [`Devices::claims_of`], once. An error is the reason why the pod waits, wherever it could go.
//! 2. **Onto a node or a NodeClaim of an earlier plan**: after everything else was found to fit,
//!    [`Devices::allocate`] with its labels as requirements. Of the answer only success counts.
//! 3. **Onto a NodeClaim of this plan, or a new one**: after taints, limits of volumes, the pod's requirements and those
//!    of its volumes were added, and before rules about other pods are. [`Devices::allocate`] with these requirements;
//!    add [`Allocation::requirements`] to them; go on; in the end keep only [`Allocation::types`]. `minValues` are not
//!    looked at again after that.
//! 4. When the pod is placed, [`Allocations::commit`]. When a NodeClaim loses instance types, for whichever pod,
//!    [`Allocations::keep_types`].
//! 5. In the end [`Allocations::drivers`] are the annotation
//!    [`REQUESTED_DRA_DRIVERS`](model::labels::REQUESTED_DRA_DRIVERS) of a NodeClaim.
//!
//! [`Allocations`] are copied for a trial, and dropped with it.
//!
//! # Where it differs from Karpenter
//!
//! Pools are tried by driver and name (Karpenter: in the order of a map), and a search ends after
//! [`DEVICE_TRIES_PER_SEARCH_MAX`](model::limits::DEVICE_TRIES_PER_SEARCH_MAX) tries (Karpenter: five seconds).
//! Where kube-scheduler would refuse what Karpenter finds, or find what Karpenter refuses, kube-scheduler is right:
//!
//! * A claim that is allocated on one node (`matchFields`), or that got devices of one node in this pass, takes its
//!   pods to this node only.
//! * What allocated claims ask of a node is asked of it beside claims that are not allocated, too.
//! * A claim that is reserved by leaving pods and by another object is not free.
//! * A type with more devices than a claim for all devices may get is left out, published devices or not.
//! * A request for all devices waits for every pool with shared counters, whose slices every node sees.
//! * A spent counter keeps only those devices away that consume it.
//! * Counters are compared exactly, not in whole units.

mod allocate;
mod allocated;
mod aws;
mod bounds;
mod consume;
mod expressions;
mod hold;
mod inventory;
mod known;
mod pass;
mod pools;
mod ready;
mod refusal;
mod requests;
mod search;
mod select;
mod state;

pub use allocate::{Allocation, DevicePlace};
pub use aws::{DeviceDrivers, InstanceDevices, NVIDIA_DRIVER};
pub use bounds::DeviceBounds;
pub use expressions::CelSelectors;
pub use known::{initialized, templates_of_pools};
pub use pass::{Devices, Leaving};
pub use pools::{PoolFault, UnusablePool};
pub use ready::{has_published, requested_drivers};
pub use refusal::{ClaimFault, DeviceRefusal, DeviceShortage, NoDevice};
pub use select::{SelectableDevice, Selects};
pub use state::{AllocatedClaim, AllocatedDevice, Allocations, DevicePlaceKey};
