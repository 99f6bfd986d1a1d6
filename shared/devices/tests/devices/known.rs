//! Which devices of instance types are known before there is a node.

use devices::templates_of_pools;
use model::{
    InstanceTypeName, dynamic_resources::GpuSharing, node_class::NodeClass, policies::Policies,
};
use testkit::build;

/// NodePool, instance type, then its pools of devices.
fn shown(policies: &Policies, class: &NodeClass, types: &[&str]) -> Vec<String> {
    let types: Vec<InstanceTypeName> = types.iter().map(|name| build::id(name)).collect();
    let pools =
        [("general", class.name.as_str()), ("other", "another-class")].map(|(name, class)| {
            let mut pool = build::node_pool(name);
            pool.template.node_class = build::id(class);
            pool
        });
    let templates = templates_of_pools(policies, [(class, types.iter())].into_iter(), &pools);
    let mut lines = Vec::new();
    for (pool, types) in templates {
        for (name, templates) in types {
            for slice in &templates.slices {
                let shared = slice.devices.iter().filter(|gpu| gpu.allows_multiple_allocations);
                let (count, shared) = (slice.devices.len(), shared.count());
                lines.push(format!("{pool} {name} {} {count}, {shared} shared", slice.driver));
            }
        }
    }
    lines
}

#[test]
fn gates_say_which_devices_of_types_are_known() {
    let class = build::node_class("default");
    let types = ["m5.large", "g5.12xlarge", "p4d.24xlarge"];
    let closed = Policies { heeds_dra_requests: true, ..Policies::default() };
    assert_eq!(shown(&closed, &class, &types), Vec::<String>::new());
    let gpus = Policies { dra_nvidia_gpu: true, ..Policies::default() };
    let expected = [
        "general g5.12xlarge gpu.nvidia.com 4, 0 shared",
        "general p4d.24xlarge gpu.nvidia.com 8, 0 shared",
    ];
    assert_eq!(shown(&gpus, &class, &types), expected);
    let efas = Policies { dra_efa: true, ..Policies::default() };
    assert_eq!(shown(&efas, &class, &types[..1]), Vec::<String>::new());
    assert_eq!(shown(&efas, &class, &types[2..]), ["general p4d.24xlarge dra.net 4, 0 shared"]);
    let sharing = NodeClass { gpu_sharing: Some(GpuSharing::Shares(4)), ..class };
    assert_eq!(
        shown(&gpus, &sharing, &types[1..2]),
        ["general g5.12xlarge gpu.nvidia.com 4, 4 shared"]
    );
}
