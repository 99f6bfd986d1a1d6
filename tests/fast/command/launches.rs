//! Cases of `render`, `simulate` and `validate`.

use super::Row;

pub(super) const LAUNCHES: &[Row] = &[
    (
        "al2023-multipart",
        "render --cluster-facts FACTS --type m5.large",
        &["yum -y install agent", "cpu: 150m", "# Karpenter Generated NodeConfig"],
        &[],
    ),
    (
        "bottlerocket-new-settings",
        "render --cluster-facts FACTS --type m5.large",
        &[
            "log-level = 3",
            "hostname-override-source = \"private-dns-name\"",
            "cpu-manager-policy-options = [\"full-pcpus-only\"]",
        ],
        &[],
    ),
    (
        "custom-ami-own-bootstrap",
        "render --cluster-facts FACTS --type m5.large",
        &[
            "ImageId: \"ami-0123456789abcdef0\"",
            "user data, 45 bytes",
            "/etc/eks/bootstrap.sh my-cluster",
        ],
        &["ami-00000000"],
    ),
    (
        "dra-daemonset",
        "simulate --duration 10m --output json",
        &["\"podsPlaced\": 1", "\"unplaced\": []"],
        &[],
    ),
    (
        "gated-template",
        "simulate --duration 10m --output json",
        &["\"podsPlaced\": 0", "\"unplaced\": []"],
        &["m5.large", "c6a.large"],
    ),
    (
        "ipv6-cluster",
        "render --cluster-facts FACTS --type m5.large",
        &[
            "\"Ipv6AddressCount\":1",
            "\"PrimaryIpv6\":true",
            "cidr: fd12:3456:789a::/108",
            "- fd12:3456:789a::a",
        ],
        &["172.20."],
    ),
    (
        "kubelet-eviction",
        "render --cluster-facts FACTS --type m5.large",
        &[
            "memory.available: \"5%\"",
            "nodefs.available: \"10%\"",
            "memory.available: \"2m0s\"",
            "evictionMaxPodGracePeriod: 120",
            "imageGCHighThresholdPercent: 85",
        ],
        &[],
    ),
    (
        "mime-second-header-lost",
        "validate",
        &["1 problem", "Content-Type must be multipart/mixed", "every launch from it is refused"],
        &["nothing is wrong"],
    ),
    (
        "mime-without-header",
        "render --cluster-facts FACTS --type m5.large",
        &["warning: spec.userData: ", "`--BOUNDARY`", "Content-Type: multipart/mixed"],
        &[],
    ),
    (
        "mime-without-header",
        "validate",
        &["1 warning", "EC2NodeClass `default`: spec.userData: ", "boundary=\"BOUNDARY\""],
        &["nothing is wrong"],
    ),
    (
        "mime-second-header-lost",
        "render --cluster-facts FACTS --type m5.large",
        &["refused: ", "spec.userData", "Content-Type must be multipart/mixed"],
        &["launch template"],
    ),
    (
        "do-not-disrupt-forever",
        "simulate --duration 4h --output json",
        &[
            "\"cure\": \"terminationGracePeriod\"",
            "\"nodePool\": \"default\"",
            "its annotation karpenter.sh/do-not-disrupt keeps it from eviction",
            "\"since\": \"2026-01-05T09:00:",
        ],
        &[],
    ),
    (
        "do-not-disrupt-forever",
        "simulate --duration 4h",
        &[
            "Drains that wait for pods",
            ": draining for 02:59:",
            "the drain ends when these pods are deleted",
            "terminationGracePeriod in NodePool default would end drains of its next nodes",
        ],
        &[],
    ),
    (
        "overlay-cheap-on-demand",
        "simulate --feature-gates NodeOverlay=true --duration 10m",
        &["launched: on-demand c5.large us-west-2a", "pods unplaced    0"],
        &["launched: spot"],
    ),
    (
        "overlay-cheap-on-demand",
        "render --cluster-facts FACTS --feature-gates NodeOverlay=true -o json",
        &["\"AllocationStrategy\": \"prioritized\"", "\"priority\": 0.017"],
        &["capacity-optimized"],
    ),
    (
        "overlay-cheap-on-demand",
        "render --cluster-facts FACTS",
        &["NodeOverlay sp has no effect: ", "1 spot instance"],
        &["on-demand"],
    ),
    (
        "overlay-adds-a-device",
        "simulate --feature-gates NodeOverlay=true --duration 10m",
        &["1 m5.xlarge", "pods unplaced    0", "launched in all  1 instance"],
        &["no capacity"],
    ),
    (
        "preferred-old-label",
        "simulate --duration 15m --output json",
        &["\"podsPlaced\": 1", "\"unplaced\": []", "\"deadLetters\": []", "\"malformed\": []"],
        &[],
    ),
    (
        "root-volume-not-marked",
        "render --cluster-facts FACTS",
        &["\"DeviceName\":\"/dev/sda1\",\"Ebs\":{\"VolumeSize\":400", "ephemeral-storage 17Gi"],
        &[],
    ),
    (
        "two-budgets-one-pod",
        "simulate --duration 4h --output json",
        &["\"podsLost\": 0", "\"kind\": \"PodEvicted\""],
        &[],
    ),
    ("unregistered-as-startup-taint-noexecute", "validate", &["nothing is wrong"], &[]),
    (
        "unregistered-as-startup-taint-noexecute",
        "simulate --duration 40m --output json",
        &["\"podsPlaced\": 1", "\"unplaced\": []", "m5.large"],
        &[],
    ),
    (
        "unregistered-as-startup-taint-noexecute",
        "render --cluster-facts FACTS --type m5.large",
        &["key: karpenter.sh/unregistered\n            value: \"true\""],
        &["karpenter.sh/unregistered\n          - "],
    ),
    ("volume-size-number", "validate", &["`5Gi`"], &["nothing is wrong", "quote it"]),
    (
        "wrong-pods-after-upgrade",
        "render --cluster-facts FACTS --type m5.large",
        &["maxPods: 20", "podsPerCore: 4", "pods 8,"],
        &[],
    ),
];
