//! Label, annotation, taint and finalizer names, exactly as Karpenter spells them.
//!
//! <https://karpenter.sh/docs/concepts/scheduling/#well-known-labels>

/// The NodePool of a node.
pub const NODE_POOL: &str = "karpenter.sh/nodepool";
/// `spot`, `on-demand` or `reserved`.
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
/// The zone of a node.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// The zone id of a node.
pub const ZONE_ID: &str = "topology.k8s.aws/zone-id";
/// The region of a node.
pub const REGION: &str = "topology.kubernetes.io/region";
/// The instance type of a node.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// The processor architecture of a node.
pub const ARCH: &str = "kubernetes.io/arch";
/// The operating system of a node.
pub const OS: &str = "kubernetes.io/os";
/// The build of Windows on a node.
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";
/// The name of a node as its own label.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// The EC2NodeClass of a node.
pub const NODE_CLASS: &str = "karpenter.k8s.aws/ec2nodeclass";
/// NodeClaim annotation: the instance profile of the instance.
pub const INSTANCE_PROFILE: &str = "karpenter.k8s.aws/instance-profile-name";
/// The capacity reservation that an instance was launched from.
pub const RESERVATION_ID: &str = "karpenter.k8s.aws/capacity-reservation-id";
/// Whether that reservation is a capacity block.
pub const RESERVATION_TYPE: &str = "karpenter.k8s.aws/capacity-reservation-type";
/// Whether its owner may take instances back.
pub const RESERVATION_INTERRUPTIBLE: &str = "karpenter.k8s.aws/capacity-reservation-interruptible";
/// What the labels of capacity reservations start with.
pub const RESERVATION_PREFIX: &str = "karpenter.k8s.aws/capacity-reservation-";
/// What a node says of the capacity reservation that it runs in.
pub const OF_RESERVATIONS: [&str; 3] =
    [RESERVATION_ID, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE];
/// The placement group of a node.
pub const PLACEMENT_GROUP_ID: &str = "karpenter.k8s.aws/placement-group-id";
/// The partition of its placement group that a node is in.
pub const PLACEMENT_GROUP_PARTITION: &str = "karpenter.k8s.aws/placement-group-partition";
/// How many accelerators of AWS's own an instance type has.
pub const INSTANCE_ACCELERATOR_COUNT: &str = "karpenter.k8s.aws/instance-accelerator-count";
/// The letter before the generation, such as `m`.
pub const INSTANCE_CATEGORY: &str = "karpenter.k8s.aws/instance-category";
/// Who manages a node of EKS: `auto` is EKS Auto Mode.
pub const COMPUTE_TYPE: &str = "eks.amazonaws.com/compute-type";
/// Who made the processors of the instance type.
pub const INSTANCE_CPU_MANUFACTURER: &str = "karpenter.k8s.aws/instance-cpu-manufacturer";
/// The family of an instance type, such as `m7g`.
pub const INSTANCE_FAMILY: &str = "karpenter.k8s.aws/instance-family";
/// The number after the letter, such as `7`.
pub const INSTANCE_GENERATION: &str = "karpenter.k8s.aws/instance-generation";
/// How many GPUs an instance type has.
pub const INSTANCE_GPU_COUNT: &str = "karpenter.k8s.aws/instance-gpu-count";
/// The hypervisor of an instance type.
pub const INSTANCE_HYPERVISOR: &str = "karpenter.k8s.aws/instance-hypervisor";
/// Gigabytes of an instance type's local NVMe disks.
pub const INSTANCE_LOCAL_NVME: &str = "karpenter.k8s.aws/instance-local-nvme";
/// The size of an instance type, such as `large`.
pub const INSTANCE_SIZE: &str = "karpenter.k8s.aws/instance-size";
/// `default` or `dedicated`.
pub const INSTANCE_TENANCY: &str = "karpenter.k8s.aws/instance-tenancy";
/// Who made the accelerators of an instance type: `aws` or `habana`.
pub const INSTANCE_ACCELERATOR_MANUFACTURER: &str =
    "karpenter.k8s.aws/instance-accelerator-manufacturer";
/// The name of the accelerators of an instance type, such as `inferentia`.
pub const INSTANCE_ACCELERATOR_NAME: &str = "karpenter.k8s.aws/instance-accelerator-name";
/// Whether an instance type is a flex type, such as `c7i-flex.large`.
pub const INSTANCE_CAPABILITY_FLEX: &str = "karpenter.k8s.aws/instance-capability-flex";
/// Virtual CPUs of an instance type.
pub const INSTANCE_CPU: &str = "karpenter.k8s.aws/instance-cpu";
/// Sustained clock speed of an instance type's processors in MHz.
pub const INSTANCE_CPU_CLOCK_SPEED: &str =
    "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz";
/// Largest bandwidth of an instance type to EBS in Mbit/s.
pub const INSTANCE_EBS_BANDWIDTH: &str = "karpenter.k8s.aws/instance-ebs-bandwidth";
/// Whether an instance type encrypts its traffic to others.
pub const INSTANCE_ENCRYPTION_IN_TRANSIT: &str =
    "karpenter.k8s.aws/instance-encryption-in-transit-supported";
/// Who made the GPUs of an instance type, such as `nvidia`.
pub const INSTANCE_GPU_MANUFACTURER: &str = "karpenter.k8s.aws/instance-gpu-manufacturer";
/// Memory of one GPU of an instance type in MiB.
pub const INSTANCE_GPU_MEMORY: &str = "karpenter.k8s.aws/instance-gpu-memory";
/// The name of the GPUs of an instance type, such as `t4`.
pub const INSTANCE_GPU_NAME: &str = "karpenter.k8s.aws/instance-gpu-name";
/// Memory of an instance type in MiB.
pub const INSTANCE_MEMORY: &str = "karpenter.k8s.aws/instance-memory";
/// Baseline network bandwidth of an instance type in Mbit/s.
pub const INSTANCE_NETWORK_BANDWIDTH: &str = "karpenter.k8s.aws/instance-network-bandwidth";
/// Node: registered.
pub const REGISTERED: &str = "karpenter.sh/registered";
/// Node: initialized.
pub const INITIALIZED: &str = "karpenter.sh/initialized";
/// Node: taints are not copied, because the user data sets them.
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";
/// Annotation that blocks voluntary disruption of a pod, node or NodeClaim.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Namespace label: the Pod Security Standard that its pods must meet, such as `restricted`.
pub const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";
/// Node annotation: `true` blocks repair.
pub const DO_NOT_REPAIR: &str = "karpenter.sh/do-not-repair";
/// Pod annotation: the cost of moving the pod, a 32-bit integer. Without it,
/// `controller.kubernetes.io/pod-deletion-cost` counts.
pub const DISRUPTION_COST: &str = "karpenter.sh/disruption-cost";
/// Pod annotation: the cost of deleting the pod before others.
///
/// <https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#pod-deletion-cost>
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// NodeClaim annotation: when the node is terminated at the latest.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
/// NodeClaim annotation: `minValues` was relaxed.
pub const MIN_VALUES_RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";
/// NodeClaim annotation: a NodeOverlay changes the price of one of its instance types.
pub const PRICE_OVERLAY_APPLIED: &str = "karpenter.sh/price-overlay-applied";
/// NodeClaim annotation: a NodeOverlay changes the capacity of one of its instance types.
pub const CAPACITY_OVERLAY_APPLIED: &str = "karpenter.sh/capacity-overlay-applied";
/// Taint of a disrupted node (NoSchedule).
pub const DISRUPTED_TAINT: &str = "karpenter.sh/disrupted";
/// Taint of a rebooting node.
pub const REBOOTING_TAINT: &str = "karpenter.sh/rebooting";
/// Taint of a node before its registration (NoExecute).
pub const UNREGISTERED_TAINT: &str = "karpenter.sh/unregistered";
/// Finalizer of nodes and NodeClaims.
pub const TERMINATION_FINALIZER: &str = "karpenter.sh/termination";
/// The manager of an object: `journeyman`.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/>
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`] on what is ours, and the name of our writes.
pub const MANAGER: &str = "journeyman";
/// NodeClaim annotation: the instance has all its tags.
pub const TAGGED: &str = "karpenter.k8s.aws/tagged";
/// NodeClaim annotation: the instance had a name before its node joined, and keeps it.
pub const KEEPS_NAME: &str = "journeyman/keeps-name";
/// Tag: the name of an instance.
pub const NAME_TAG: &str = "Name";
/// Instance tag: the ledger that launched it. Only instances with this tag are terminated without a NodeClaim.
pub const LEDGER_TAG: &str = "journeyman/ledger";
/// NodeClaim annotation: the version of the record that the object shows.
pub const CLAIM_VERSION: &str = "journeyman/nodeclaim-version";
/// EC2NodeClass annotation: how claims share NVIDIA's GPUs: `disabled`, `memory`, `unlimited` or a number of shares.
pub const NVIDIA_CONSUMABLE_CAPACITY: &str = "karpenter.k8s.aws/nvidia-consumable-capacity";
/// NodeClaim annotation: drivers whose devices its pods claim, by name, with commas between. Its node is initialized
/// once all of them have published theirs.
pub const REQUESTED_DRA_DRIVERS: &str = "karpenter.sh/requested-dra-drivers";
/// EC2NodeClass annotation: the selected placement group.
pub const SELECTED_PLACEMENT_GROUP: &str = "journeyman/placement-group";
/// EC2NodeClass annotation: the version of the custom launch template that the status describes.
pub const LAUNCH_TEMPLATE_VERSION: &str = "journeyman/launch-template-version";
/// EC2NodeClass annotation: images in its status that only canaries start from so far, with commas between.
pub const CANDIDATE_IMAGES: &str = "journeyman/candidate-images";
/// NodeClaim annotation: it replaces a drifted node, and starts from the candidate images of its EC2NodeClass.
pub const CANARY: &str = "journeyman/canary";
/// NodeClaim annotation: it replaces a drifted node of this other NodePool, whose EC2NodeClass has rollouts; the hash of
/// that NodePool is behind a slash.
pub const MOVED_FROM: &str = "journeyman/moved-from";
/// What the EC2NodeClass annotations of rollouts begin with.
pub const ROLLOUT_PREFIX: &str = "journeyman/rollout-";
/// EC2NodeClass annotation: how many drifted nodes of each NodePool are replaced first, such as `2` or `5%`.
pub const ROLLOUT_CANARY: &str = "journeyman/rollout-canary";
/// EC2NodeClass annotation: how long these run before other nodes follow, such as `30m`; 15 minutes when absent.
pub const ROLLOUT_BAKE_TIME: &str = "journeyman/rollout-bake-time";
/// EC2NodeClass annotation: when no drifted node is replaced: schedules of cron, each with a duration, separated by `;`.
pub const ROLLOUT_FREEZE: &str = "journeyman/rollout-freeze";
/// NodePool annotation: how pods share new nodes, `karpenter` or `cheapest`.
pub const PACKING: &str = "journeyman/packing";
/// NodePool annotation: maximum share of the pool's requests on one new node, such as `20%`.
pub const MAX_NODE_SHARE: &str = "journeyman/max-node-share";
/// NodePool annotation: maximum price of its nodes together in dollars an hour, such as `12.5`.
pub const MAX_DOLLARS_PER_HOUR: &str = "journeyman/max-dollars-per-hour";
/// Instance tag: the EKS cluster.
pub const CLUSTER_NAME_TAG: &str = "eks:eks-cluster-name";
/// Instance tag: the NodeClaim.
pub const NODE_CLAIM_TAG: &str = "karpenter.sh/nodeclaim";

/// Instance tag: the batch of NodeClaims that the launch was for.
pub const BATCH_TAG: &str = "karpenter.sh/nodeclaim-batch";

/// Tags that every launch sets itself, beside those that start with [`CLUSTER_TAG_PREFIX`].
pub const LAUNCH_TAGS: [&str; 4] = [CLUSTER_NAME_TAG, NODE_POOL, NODE_CLAIM_TAG, NODE_CLASS];
/// Tags about a cluster's ownership start with it: `kubernetes.io/cluster/<name>`.
pub const CLUSTER_TAG_PREFIX: &str = "kubernetes.io/cluster";

/// Whether a launch sets the tag `key`, so that an EC2NodeClass may not.
///
/// Karpenter: `pkg/apis/v1/labels.go` of the AWS provider, `RestrictedTagPatterns`.
pub fn is_launch_tag(key: &str) -> bool {
    LAUNCH_TAGS.contains(&key) || key.starts_with(CLUSTER_TAG_PREFIX)
}

/// Labels whose values instance types and offerings define.
const WELL_KNOWN: &[&str] = &[
    NODE_POOL,
    CAPACITY_TYPE,
    ZONE,
    ZONE_ID,
    REGION,
    INSTANCE_TYPE,
    ARCH,
    OS,
    WINDOWS_BUILD,
    RESERVATION_ID,
    RESERVATION_INTERRUPTIBLE,
    RESERVATION_TYPE,
    INSTANCE_ACCELERATOR_COUNT,
    INSTANCE_ACCELERATOR_MANUFACTURER,
    INSTANCE_ACCELERATOR_NAME,
    INSTANCE_CAPABILITY_FLEX,
    INSTANCE_CATEGORY,
    INSTANCE_CPU,
    INSTANCE_CPU_MANUFACTURER,
    INSTANCE_CPU_CLOCK_SPEED,
    INSTANCE_EBS_BANDWIDTH,
    INSTANCE_ENCRYPTION_IN_TRANSIT,
    INSTANCE_FAMILY,
    INSTANCE_GENERATION,
    INSTANCE_GPU_COUNT,
    INSTANCE_GPU_MANUFACTURER,
    INSTANCE_GPU_MEMORY,
    INSTANCE_GPU_NAME,
    INSTANCE_HYPERVISOR,
    INSTANCE_LOCAL_NVME,
    INSTANCE_MEMORY,
    INSTANCE_NETWORK_BANDWIDTH,
    INSTANCE_SIZE,
    INSTANCE_TENANCY,
    PLACEMENT_GROUP_ID,
    PLACEMENT_GROUP_PARTITION,
];

/// Values that people write as other programs do, and how labels of nodes write them.
const WRITTEN_ELSEWHERE: [(&str, &str); 7] = [
    ("x86_64", "amd64"),
    ("x86-64", "amd64"),
    ("x64", "amd64"),
    ("aarch64", "arm64"),
    ("arm64v8", "arm64"),
    ("ondemand", "on-demand"),
    ("on_demand", "on-demand"),
];

/// The one of `known` that `value` most likely stands for: it differs in the case of letters, or is how another
/// program calls it. `None` if no value is near, or if `value` is one of them.
pub fn meant<'k>(value: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let lower = value.to_ascii_lowercase();
    let elsewhere = WRITTEN_ELSEWHERE.iter().find(|(written, _)| *written == lower);
    let meant = elsewhere.map_or(lower.as_str(), |(_, meant)| meant);
    known.into_iter().find(|known| *known != value && known.eq_ignore_ascii_case(meant))
}

/// Domains in which users may not invent labels.
const RESTRICTED_DOMAINS: [&str; 2] = ["karpenter.sh", "karpenter.k8s.aws"];

/// Whether the values of the label `key` are amounts of memory in MiB.
pub fn is_in_mebibytes(key: &str) -> bool {
    matches!(key, INSTANCE_MEMORY | INSTANCE_GPU_MEMORY)
}

/// Whether `key` is one that instance types and offerings define.
pub fn is_well_known(key: &str) -> bool {
    WELL_KNOWN.contains(&key)
}

/// Every well-known label, for hints about misspelled ones.
pub fn well_known() -> impl Iterator<Item = &'static str> {
    WELL_KNOWN.iter().copied()
}

/// Whether users may not require or set `key`: `kubernetes.io/hostname`, and whatever lies in
/// Karpenter's own domains without being well known.
pub fn is_restricted(key: &str) -> bool {
    if is_well_known(key) {
        return false;
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let inside = |restricted: &str| {
        domain == restricted
            || domain.strip_suffix(restricted).is_some_and(|rest| rest.ends_with('.'))
    };
    key == HOSTNAME || RESTRICTED_DOMAINS.into_iter().any(inside)
}

/// The canonical spelling of `key`: aliases of older Kubernetes releases and of the EBS driver
/// become today's labels.
pub fn canonical(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" | "topology.ebs.csi.aws.com/zone" => ZONE,
        "failure-domain.beta.kubernetes.io/region" => REGION,
        "beta.kubernetes.io/arch" => ARCH,
        "beta.kubernetes.io/os" => OS,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE,
        other => other,
    }
}
