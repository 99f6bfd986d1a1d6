//! ResourceSlices as a driver gives them to the API server.

use k8s_openapi::api::core::v1::Node;
use model::{
    Quantity,
    dynamic_resources::{
        AttributeValue, DeviceCapacity, RequestPolicy, ResourceSlice, SliceDevice, ValidAmounts,
    },
};
use serde_json::{Value, json};

/// `slice`, which is deleted with `node`, whose devices it has. No driver here has counters.
pub(crate) fn object(slice: &ResourceSlice, node: &Node) -> Value {
    let owner = json!({
        "apiVersion": "v1", "kind": "Node", "controller": true,
        "name": node.metadata.name, "uid": node.metadata.uid,
    });
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": { "name": slice.name, "ownerReferences": [owner] },
        "spec": {
            "driver": &*slice.driver,
            "nodeName": node.metadata.name,
            "pool": {
                "name": &*slice.pool.name,
                "generation": slice.pool.generation,
                "resourceSliceCount": slice.pool.slice_count,
            },
            "devices": slice.devices.iter().map(device).collect::<Vec<_>>(),
        },
    })
}

fn device(device: &SliceDevice) -> Value {
    let attributes = device.attributes.iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::Int(number) => json!({ "int": number }),
            AttributeValue::Bool(truth) => json!({ "bool": truth }),
            AttributeValue::String(text) => json!({ "string": text }),
            AttributeValue::Version(text) => json!({ "version": text }),
        };
        (name.clone(), value)
    });
    let capacity = device.capacity.iter().map(|(name, of)| (name.clone(), capacity(of)));
    fields([
        ("name", Some((*device.name).into())),
        ("attributes", Some(attributes.collect())),
        ("capacity", Some(capacity.collect())),
        ("allowMultipleAllocations", Some(device.allows_multiple_allocations.into())),
    ])
}

fn capacity(capacity: &DeviceCapacity) -> Value {
    let policy = capacity.policy.as_ref().map(policy);
    fields([("value", Some(amount(&capacity.value))), ("requestPolicy", policy)])
}

fn policy(policy: &RequestPolicy) -> Value {
    let (range, values) = match &policy.valid {
        Some(ValidAmounts::Range { min, max, step }) => {
            let (max, step) = (max.as_ref().map(amount), step.as_ref().map(amount));
            (Some(fields([("min", Some(amount(min))), ("max", max), ("step", step)])), None)
        }
        Some(ValidAmounts::Values(amounts)) => (None, Some(amounts.iter().map(amount).collect())),
        None => (None, None),
    };
    let default = policy.default.as_ref().map(amount);
    fields([("default", default), ("validRange", range), ("validValues", values)])
}

fn amount(amount: &Quantity) -> Value {
    amount.to_string().into()
}

/// An object of those fields that have a value.
fn fields<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::ObjectMeta};
    use model::{NodeName, dynamic_resources::GpuSharing};
    use serde_json::json;
    use simulator::{DeviceDrivers, published_slices};

    use super::object;

    #[test]
    fn functions_read_what_drivers_publish() {
        let metadata = ObjectMeta {
            name: Some("a".to_owned()),
            uid: Some("u".to_owned()),
            ..ObjectMeta::default()
        };
        let node = Node { metadata, ..Node::default() };
        let name = NodeName::new("a").unwrap();
        let sharings = [
            None,
            Some(GpuSharing::Shares(4)),
            Some(GpuSharing::Memory),
            Some(GpuSharing::Unlimited),
        ];
        let types = instance_catalog::builtin().unwrap().instance_types;
        let mut with_devices = 0;
        for (sharing, instance_type) in
            sharings.iter().flat_map(|sharing| types.iter().map(move |known| (*sharing, known)))
        {
            let drivers = DeviceDrivers { nvidia_gpu: true, sharing, efa: true };
            let published = published_slices(&name, &instance_type.name, &drivers);
            let items: Vec<_> = published.iter().map(|slice| object(slice, &node)).collect();
            let listed = json!({ "kind": "ResourceSliceList", "items": items });
            let read = api::lists::resource_slice_list(listed.to_string().as_bytes()).unwrap();
            assert_eq!((read.malformed, &read.items), (vec![], &published));
            with_devices += usize::from(!published.is_empty());
        }
        assert!(with_devices > 100, "{with_devices} types have devices");
    }
}
