//! Dynamic resource allocation: what drivers publish, and what is claimed.

use model::{
    Quantity,
    dynamic_resources::{
        AttributeBinding, AttributeValue, ClaimAllocation, ClaimConsumer, CounterSet, DeviceAsk,
        DeviceCapacity, DeviceClass, DeviceConstraint, DeviceCount, DeviceFacts, DeviceId,
        DeviceRequest, DeviceSelector, DeviceTemplates, NodeSelector, NodeSelectorTerm, PodClaims,
        RequestKind, RequestPolicy, ResourceClaim, ResourceClaimKey, ResourcePool, ResourceSlice,
        SliceAccess, SliceDevice, TemplateSlice, ValidAmounts,
    },
};

use super::{
    codec::{Damaged, Source, Stored, Writer},
    macros::{enumerations, structures},
};

structures! {
    PodClaims { 1 references, 2 is_asked_by_container }
    DeviceFacts { 1 slices, 2 classes, 3 claims, 4 initialized, 5 templates }
    DeviceClass { 1 name, 2 selectors }
    ResourceClaimKey { 1 namespace, 2 name }
    ResourceClaim { 1 key, 2 requests, 3 constraints, 4 allocation, 5 reserved_for }
    DeviceRequest { 1 name, 2 kind }
    DeviceAsk { 1 class, 2 selectors, 3 count, 4 capacity }
    ClaimAllocation { 1 devices, 2 selector }
    DeviceId { 1 driver, 2 pool, 3 device }
    ResourceSlice { 1 name, 2 owner, 3 driver, 4 pool, 5 access, 6 devices, 7 shared_counters }
    ResourcePool { 1 name, 2 generation, 3 slice_count }
    NodeSelector { 1 terms }
    NodeSelectorTerm { 1 requirements, 2 nodes }
    SliceDevice {
        1 name, 2 attributes, 3 capacity, 4 allows_multiple_allocations, 5 consumes_counters,
    }
    DeviceCapacity { 1 value, 2 policy }
    RequestPolicy { 1 default, 2 valid }
    CounterSet { 1 name, 2 counters }
    DeviceTemplates { 1 slices, 2 bindings }
    TemplateSlice { 1 driver, 2 pool, 3 devices, 4 shared_counters }
    AttributeBinding { 1 attribute, 2 devices }
}

enumerations! {
    DeviceSelector { 0 Cel(1 expression), 1 Unsupported }
    RequestKind { 0 Exactly(1 ask), 1 FirstAvailable(1 alternatives), 2 Unsupported }
    DeviceCount { 0 Exact(1 count), 1 All }
    DeviceConstraint { 0 MatchAttribute { 1 attribute, 2 requests }, 1 Unsupported(1 field) }
    ClaimConsumer { 0 Pod(1 uid), 1 Other }
    SliceAccess { 0 AllNodes, 1 Node(1 name), 2 Selector(1 selector), 3 Unsupported }
    AttributeValue { 0 Int(1 number), 1 Bool(1 truth), 2 String(1 text), 3 Version(1 text) }
    ValidAmounts { 0 Range { 1 min, 2 max, 3 step }, 1 Values(1 amounts) }
}

impl Stored for Quantity {
    fn put(&self, to: &mut Writer) {
        self.nanos().put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        let most = Self::MAX.nanos();
        from.signed(-most, most).map(Self::from_nanos)
    }
}
