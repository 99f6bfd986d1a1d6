//! Dynamic resource allocation: devices that drivers publish, and claims of pods to them.
//!
//! Kubernetes: `resource.k8s.io/v1`,
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/>

pub mod claim;
pub mod nvidia;
pub mod observed;
pub mod slice;
pub mod template;

pub use claim::{
    ClaimAllocation, ClaimConsumer, DeviceAsk, DeviceClass, DeviceConstraint, DeviceCount,
    DeviceRequest, DeviceSelector, PodClaims, RequestKind, ResourceClaim, ResourceClaimKey,
};
pub use nvidia::{GpuSharing, InvalidGpuSharing};
pub use observed::DeviceFacts;
pub use slice::{
    AttributeValue, CounterSet, DeviceCapacity, DeviceId, NodeSelector, NodeSelectorTerm,
    RequestPolicy, ResourcePool, ResourceSlice, SliceAccess, SliceDevice, ValidAmounts,
};
pub use template::{AttributeBinding, DeviceTemplates, EFA_DRIVER, TemplateSlice};
