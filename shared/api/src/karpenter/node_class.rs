//! EC2NodeClass, `karpenter.k8s.aws/v1`: its `spec`.

use std::{collections::BTreeMap, sync::LazyLock};

use model::node_class::ImageFamily;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    kind::{Column, CustomKind, Names, Scope},
    node_class_parts::{
        AmiSelectorTerm, BlockDeviceMapping, CapacityReservationSelectorTerm,
        ConnectionTrackingSpec, CpuOptions, EnclaveOptions, InstanceStorePolicy,
        MetadataOptionsSpec, NetworkInterfaceSpec, PlacementGroupSelector,
        SecurityGroupSelectorTerm, SubnetSelectorTerm,
    },
    node_class_rules,
    node_class_status::Ec2NodeClassStatus,
    rule::validations,
    schema::schema_of,
    word::Word,
};

/// How nodes are launched on EC2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::SPEC)))]
#[serde(rename_all = "camelCase")]
pub struct Ec2NodeClassSpec {
    /// In which subnets: those that any of the terms selects.
    #[schemars(length(max = 30), extend("x-kubernetes-validations" = validations(node_class_rules::SUBNET_TERMS)))]
    pub subnet_selector_terms: Vec<SubnetSelectorTerm>,
    /// With which security groups: those that any of the terms selects.
    #[schemars(length(max = 30), extend("x-kubernetes-validations" = validations(node_class_rules::SECURITY_GROUP_TERMS)))]
    pub security_group_selector_terms: Vec<SecurityGroupSelectorTerm>,
    /// Which capacity reservations may be used: those that any of the terms selects.
    #[schemars(length(max = 30), extend("x-kubernetes-validations" = validations(node_class_rules::RESERVATION_TERMS)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_reservation_selector_terms: Option<Vec<CapacityReservationSelectorTerm>>,
    /// The placement group of the instances.
    #[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::PLACEMENT_GROUP)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement_group_selector: Option<PlacementGroupSelector>,
    /// Whether instances get a public IPv4 address. Absent: as the subnet says.
    #[serde(rename = "associatePublicIPAddress", skip_serializing_if = "Option::is_none")]
    pub associate_public_ip_address: Option<bool>,
    /// How many prefixes every network interface with addresses of its own is given.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_prefix_count: Option<i32>,
    /// With which machine images: of those that any of the terms selects the newest that fits.
    #[schemars(length(min = 1, max = 30), extend("x-kubernetes-validations" = validations(node_class_rules::IMAGE_TERMS)))]
    pub ami_selector_terms: Vec<AmiSelectorTerm>,
    /// What user data a machine image understands. An alias says it already; `Custom` leaves user
    /// data as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ami_family: Option<Word<ImageFamily>>,
    /// User data of one's own; merged with what joins the node to the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// The IAM role of the nodes; an instance profile is made for it.
    #[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::ROLE)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The instance profile of the nodes, in place of `role`.
    #[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::INSTANCE_PROFILE)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_profile: Option<String>,
    /// Tags for everything that is launched.
    #[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::TAGS)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
    /// Settings of the kubelet, as in KubeletConfiguration of kubelet.config.k8s.io/v1beta1. What
    /// decisions need of it is understood; the rest is passed through to AL2023.
    // Releases before 1.15 know twelve members of fixed types and refuse all else.
    #[schemars(schema_with = "kubelet")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<Map<String, Value>>,
    /// The volumes of the instances. Absent: those of the image's family.
    #[schemars(length(max = 50), extend("x-kubernetes-validations" = validations(node_class_rules::VOLUMES)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_device_mappings: Option<Vec<BlockDeviceMapping>>,
    /// What is done with the disks that come with an instance. `RAID0`: they hold the pods' data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_store_policy: Option<InstanceStorePolicy>,
    /// The network interfaces of the instances. Absent: one, and what an instance type has for EFA
    /// where pods ask for it.
    #[schemars(length(max = 150), extend("x-kubernetes-validations" = validations(node_class_rules::INTERFACES)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_interfaces: Option<Vec<NetworkInterfaceSpec>>,
    /// Whether CloudWatch measures the instances every minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detailed_monitoring: Option<bool>,
    /// How programs on the instances reach the instance metadata service.
    #[schemars(extend("default" = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    }))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata_options: Option<MetadataOptionsSpec>,
    /// After how many seconds of silence security groups forget a connection.
    #[schemars(extend("x-kubernetes-validations" = validations(node_class_rules::CONNECTIONS)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_tracking: Option<ConnectionTrackingSpec>,
    /// A context of EC2 Fleet, where AWS gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What the processors may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_options: Option<CpuOptions>,
    /// Whether the instances may run AWS Nitro Enclaves. Absent: they may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enclave_options: Option<EnclaveOptions>,
}

/// An open object: members are only named so that `kubectl explain` lists them, and hold anything. A
/// schema of the API server's may leave out a type only where unknown fields are preserved.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>
fn kubelet(_: &mut SchemaGenerator) -> Schema {
    let member = |(name, about): &(&str, &str)| {
        let schema = json!({"description": about, "x-kubernetes-preserve-unknown-fields": true});
        ((*name).to_owned(), schema)
    };
    let members: Map<String, Value> = KUBELET.iter().map(member).collect();
    schemars::json_schema!({
        "type": "object",
        "properties": members,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

/// Whether the member `key` of `kubelet` reaches nodes of every image family, and counts in decisions.
pub(crate) fn is_interpreted(key: &str) -> bool {
    KUBELET.iter().any(|(known, _)| *known == key)
}

/// Those members, each with what it says.
const KUBELET: &[(&str, &str)] = &[
    ("clusterDNS", "A list of addresses of DNS servers, in place of the cluster's."),
    ("cpuCFSQuota", "Whether CPU limits of containers are enforced: true or false."),
    (
        "evictionHard",
        "Signals such as memory.available, each with the quantity or the percentage below which pods are evicted at once.",
    ),
    (
        "evictionMaxPodGracePeriod",
        "The most seconds that a pod may take to stop when a soft threshold evicts it.",
    ),
    (
        "evictionSoft",
        "Signals such as memory.available, each with the quantity or the percentage below which pods are evicted after a while.",
    ),
    (
        "evictionSoftGracePeriod",
        "For each signal of evictionSoft how long it must hold, such as 1m30s.",
    ),
    (
        "imageGCHighThresholdPercent",
        "How full the disk may be, from 0 to 100, before images are removed until imageGCLowThresholdPercent is reached.",
    ),
    (
        "imageGCLowThresholdPercent",
        "How full the disk may be, from 0 to 100, that no images are removed: less than imageGCHighThresholdPercent.",
    ),
    (
        "kubeReserved",
        "Quantities of cpu, memory, ephemeral-storage and pid that are kept for the kubelet and the container runtime.",
    ),
    ("maxPods", "The most pods that run on a node."),
    ("podsPerCore", "The most pods that run on a node for each of its CPUs; maxPods still holds."),
    (
        "systemReserved",
        "Quantities of cpu, memory, ephemeral-storage and pid that are kept for the operating system.",
    ),
];

impl CustomKind for Ec2NodeClassSpec {
    type Status = Ec2NodeClassStatus;

    const NAMES: Names = Names {
        group: model::api_version::AWS_GROUP,
        version: "v1",
        kind: "EC2NodeClass",
        plural: "ec2nodeclasses",
        short: &["ec2nc", "ec2ncs"],
        category: "karpenter",
        scope: Scope::Cluster,
        about: "An EC2NodeClass says how the nodes of NodePools that name it are launched on EC2.",
        // Karpenter's CRD does not ask for it either; controllers do.
        requires_spec: false,
        replicas: None,
        columns: &[
            Column::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#),
            Column::AGE,
            Column::text("Role", ".spec.role").wide(),
        ],
    };

    fn schema() -> &'static Value {
        static SCHEMA: LazyLock<Value> = LazyLock::new(schema_of::<Ec2NodeClassSpec>);
        &SCHEMA
    }
}
