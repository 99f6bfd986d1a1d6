//! What the adapters over AWS need of IAM for each call of a port: the one table.
//!
//! A test of `aws` compares it with the requests that they send, and `journeyman template` makes the functions'
//! roles of it. Which calls a function makes is said by `handlers::calls`.
//!
//! A request may need more than the action of its name: <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html>.
//! A launch with tags also tags, a launch from a launch template with an instance profile passes its role on, and
//! a transaction needs the right to each of its writes. Kubernetes is reached through EKS access entries; IAM only
//! lets the functions find the API server.

/// Reading claims through the table's index, which has a resource of its own.
pub const QUERY_INDEX: &str = "dynamodb:Query index/claims_of_instances";

const API_SERVER: &[&str] = &["eks:DescribeCluster"];
const LAUNCH: &[&str] = &["ec2:CreateFleet", "ec2:CreateTags", "ec2:RunInstances", "iam:PassRole"];

/// A call, as port and method, and the actions that it needs; both sorted.
pub const ACTIONS: &[(&str, &[&str])] = &[
    ("AlphaStatuses.observed_overlays", API_SERVER),
    ("AlphaStatuses.update_buffer_status", API_SERVER),
    ("AlphaStatuses.update_overlay_status", API_SERVER),
    ("Catalog.catalog", &["dynamodb:GetItem"]),
    ("CatalogStore.put", &["dynamodb:PutItem"]),
    ("CatalogStore.stored", &["dynamodb:GetItem"]),
    ("Cluster.daemon_sets", API_SERVER),
    ("Cluster.devices", API_SERVER),
    ("Cluster.node_classes", API_SERVER),
    ("Cluster.node_overlays", API_SERVER),
    ("Cluster.node_pools", API_SERVER),
    ("Cluster.nodes", API_SERVER),
    ("Cluster.pod_selectors", API_SERVER),
    ("Cluster.pods", API_SERVER),
    ("Cluster.surroundings", API_SERVER),
    ("Cluster.volume_attachments", API_SERVER),
    ("Cluster.volume_claim", API_SERVER),
    ("Decisions.decisions", &["dynamodb:Query"]),
    ("Decisions.facts", &["dynamodb:Query"]),
    ("Discovery.cluster_settings", &["eks:DescribeCluster"]),
    ("Discovery.free_addresses", &["ec2:DescribeSubnets"]),
    ("Discovery.images", &["ec2:DescribeImages", "ssm:GetParameter"]),
    ("Discovery.launch_template", &["ec2:DescribeLaunchTemplateVersions"]),
    ("Discovery.placement_group", &["ec2:DescribePlacementGroups"]),
    ("Discovery.reservations", &["ec2:DescribeCapacityReservations"]),
    ("Discovery.security_groups", &["ec2:DescribeSecurityGroups"]),
    ("Discovery.subnets", &["ec2:DescribeSubnets"]),
    ("Discovery.zonal_shifts", &["arc-zonal-shift:GetManagedResource", "eks:DescribeCluster"]),
    ("Events.publish", API_SERVER),
    ("Fleet.describe", &["ec2:DescribeInstances"]),
    ("Fleet.dry_run", LAUNCH),
    ("Fleet.dry_run_instance", &["ec2:CreateTags", "ec2:RunInstances", "iam:PassRole"]),
    ("Fleet.impaired", &["ec2:DescribeInstanceStatus"]),
    (
        "Fleet.launch",
        &[
            "ec2:CreateFleet",
            "ec2:CreateTags",
            "ec2:DescribeInstances",
            "ec2:RunInstances",
            "iam:PassRole",
        ],
    ),
    ("Fleet.list", &["ec2:DescribeInstances"]),
    ("Fleet.of_batch", &["ec2:DescribeInstances"]),
    ("Fleet.reboot", &["ec2:RebootInstances"]),
    ("Fleet.tag", &["ec2:CreateTags"]),
    ("Fleet.terminate", &["ec2:TerminateInstances"]),
    (
        "Forensics.access",
        &["eks:DescribeAccessEntry", "eks:DescribeCluster", "iam:GetInstanceProfile"],
    ),
    ("Forensics.checks", &["ec2:DescribeInstanceStatus"]),
    ("Forensics.console", &["ec2:GetConsoleOutput"]),
    ("Forensics.image", &["ec2:DescribeImages"]),
    ("Forensics.instance", &["ec2:DescribeInstances"]),
    (
        "Forensics.network",
        &["ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "eks:DescribeCluster"],
    ),
    ("Leases.hold", API_SERVER),
    ("Leases.leases", API_SERVER),
    ("Ledger.claims_of_instances", &["dynamodb:BatchGetItem", QUERY_INDEX]),
    (
        "Ledger.commit",
        &[
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        ],
    ),
    ("Ledger.head", &["dynamodb:GetItem"]),
    ("Ledger.mark_unavailable", &["dynamodb:PutItem"]),
    ("Ledger.measure", &["dynamodb:PutItem"]),
    ("Ledger.open", &["dynamodb:GetItem", "dynamodb:UpdateItem"]),
    ("Ledger.pulse", &["dynamodb:GetItem"]),
    ("Ledger.put_decisions", &["dynamodb:PutItem"]),
    ("Ledger.put_facts", &["dynamodb:PutItem"]),
    ("Ledger.put_guard", &["dynamodb:UpdateItem"]),
    ("Ledger.put_refusals", &["dynamodb:DeleteItem", "dynamodb:PutItem"]),
    ("Ledger.put_registrations", &["dynamodb:PutItem"]),
    ("Ledger.put_shifted_zones", &["dynamodb:UpdateItem"]),
    ("Ledger.put_validation", &["dynamodb:PutItem"]),
    ("Ledger.registrations", &["dynamodb:Query"]),
    ("Ledger.remove_claim", &["dynamodb:DeleteItem"]),
    ("Ledger.snapshot", &["dynamodb:GetItem", "dynamodb:Query"]),
    ("Ledger.validation", &["dynamodb:GetItem"]),
    (
        "Ledger.withdraw_claims",
        &["dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"],
    ),
    ("Ledger.write_claim", &["dynamodb:UpdateItem"]),
    (
        "Ledger.write_claims",
        &["dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"],
    ),
    ("Ledger.write_pulse", &["dynamodb:PutItem"]),
    ("Mailbox.call", &["lambda:InvokeFunction"]),
    ("Mailbox.send", &["sqs:SendMessage"]),
    ("Market.instance_types", &["ec2:DescribeInstanceTypes"]),
    ("Market.offered", &["ec2:DescribeInstanceTypeOfferings"]),
    ("Market.on_demand", &["pricing:GetProducts"]),
    ("Market.spot", &["ec2:DescribeSpotPriceHistory"]),
    ("Market.zones", &["ec2:DescribeAvailabilityZones"]),
    ("NodeClaims.objects", API_SERVER),
    ("NodeClaims.remove", API_SERVER),
    ("NodeClaims.sync", API_SERVER),
    ("NodeClaims.synced", API_SERVER),
    ("NodeClaims.take_over", API_SERVER),
    ("NodeClasses.observed_classes", API_SERVER),
    ("NodeClasses.update_class_status", API_SERVER),
    ("NodePools.observed_pools", API_SERVER),
    ("NodePools.probe_wake", API_SERVER),
    ("NodePools.update_pool_status", API_SERVER),
    ("NodePools.update_wake_condition", API_SERVER),
    ("Nodes.delete", API_SERVER),
    ("Nodes.evict", API_SERVER),
    ("Nodes.node", API_SERVER),
    ("Nodes.patch", API_SERVER),
    ("Nodes.pods_on", API_SERVER),
    ("Nodes.resource_slices", API_SERVER),
    ("Nodes.set_deletion_cost", API_SERVER),
    ("Nodes.uninitialized", API_SERVER),
    (
        "Profiles.ensure",
        &[
            "iam:AddRoleToInstanceProfile",
            "iam:CreateInstanceProfile",
            "iam:GetInstanceProfile",
            "iam:PassRole",
            "iam:TagInstanceProfile",
        ],
    ),
    ("Profiles.list", &["iam:ListInstanceProfiles"]),
    (
        "Profiles.remove",
        &[
            "iam:DeleteInstanceProfile",
            "iam:GetInstanceProfile",
            "iam:RemoveRoleFromInstanceProfile",
        ],
    ),
    ("Templates.dry_run", &["ec2:CreateLaunchTemplate", "ec2:CreateTags"]),
    (
        "Templates.ensure",
        &["ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DescribeLaunchTemplates"],
    ),
    ("Templates.list", &["ec2:DescribeLaunchTemplates"]),
    ("Templates.remove", &["ec2:DeleteLaunchTemplate"]),
    ("Webhooks.of_wake", API_SERVER),
    ("Webhooks.set_urls", API_SERVER),
];

/// The actions that `call` needs; none where no row says so.
pub fn actions(call: &str) -> &'static [&'static str] {
    ACTIONS.iter().find(|(name, _)| *name == call).map_or(&[], |(_, actions)| *actions)
}
