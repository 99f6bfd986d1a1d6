//! How many requests Karpenter sends for the same story, by its periods and batches.
//!
//! It watches the API server, so that it lists nothing; it writes each object several times. The
//! formulas are lower bounds: events, leases and retries are left out.

use super::report::Requests;

/// Seconds after which a batch of pods is closed though more come: `BATCH_MAX_DURATION`.
const PODS_SECONDS: u64 = 10;
/// Items of one CreateFleet request: `pkg/batcher/createfleet.go` of the AWS provider.
const FLEET_MAX: u64 = 1_000;
/// Items of one batch of DescribeInstances and TerminateInstances, which is sent once a second:
/// `pkg/batcher/describeinstances.go`, `pkg/batcher/terminateinstances.go`.
const BATCH_MAX: u64 = 500;
/// Seconds between two lists of all instances once it runs for a while:
/// `pkg/controllers/nodeclaim/garbagecollection/controller.go`.
const COLLECTION_SECONDS: u64 = 120;
/// Seconds between two passes over an instance that ends:
/// `pkg/controllers/nodeclaim/lifecycle/termination.go`.
const TERMINATION_SECONDS: u64 = 5;
/// Seconds between two looks at the subnets of an EC2NodeClass: `pkg/controllers/nodeclass/subnet.go`.
const SUBNET_SECONDS: u64 = 60;
/// Seconds between two looks at its security groups and images:
/// `pkg/controllers/nodeclass/securitygroup.go`, `pkg/controllers/nodeclass/ami.go`.
const CLASS_SECONDS: u64 = 300;
/// Seconds of one long poll of the queue: `pkg/providers/sqs/sqs.go`.
const POLL_SECONDS: u64 = 20;
/// Requests a second to the API server, and how many at once before: `KUBE_CLIENT_QPS` and
/// `KUBE_CLIENT_BURST` of `pkg/operator/options/options.go`.
const CLIENT_QPS: u64 = 200;
const CLIENT_BURST: u64 = 300;
/// Requests to the API server for a NodeClaim before its instance is asked for: it is made, and gets its
/// finalizer.
const REQUESTS_BEFORE_LAUNCH: u64 = 2;
/// Seconds between two dry runs of an EC2NodeClass: `ValidationTTL` of `pkg/cache/cache.go`.
const VALIDATION_SECONDS: u64 = 1_800;
/// Seconds that an instance profile is kept: `InstanceProfileTTL` of `pkg/cache/cache.go`.
const PROFILE_SECONDS: u64 = 900;
/// Seconds between two lists of the instance profiles: `pkg/controllers/nodeclass/garbagecollection`.
const PROFILES_SECONDS: u64 = 1_800;
/// Seconds between two looks at the version of the cluster: `pkg/controllers/providers/version/controller.go`. It
/// is EKS that is asked where `EKS_CONTROL_PLANE` is set, and the API server otherwise.
const VERSION_SECONDS: u64 = 300;
/// Seconds that the value of an SSM parameter is kept: `SSMCacheTTL` of `pkg/cache/cache.go`.
const PARAMETER_SECONDS: u64 = 86_400;
/// SSM parameters of the image alias of the stories.
const PARAMETERS: u64 = 5;
/// Seconds between two renewals of the lease of its leader: client-go's `RetryPeriod`.
const LEASE_SECONDS: u64 = 2;

fn add(requests: &mut Requests, action: &'static str, count: u64) {
    *requests.entry(action).or_default() += count;
}

/// `nodes` that are wanted within `spread` seconds, of one pool and class, until they are initialized.
pub(crate) fn launch(requests: &mut Requests, nodes: u64, spread: u64) {
    let batches = (spread.div_ceil(PODS_SECONDS) + 1).min(nodes);
    // `pkg/batcher/createfleet.go`: a batch is closed after a second, and claims come no faster than this.
    let waiting = (nodes * REQUESTS_BEFORE_LAUNCH).saturating_sub(CLIENT_BURST);
    let seconds = waiting.div_ceil(CLIENT_QPS);
    add(requests, "ec2:CreateFleet", batches.max(nodes.div_ceil(FLEET_MAX)).max(seconds));
    // One for the image of each architecture.
    add(requests, "ec2:DescribeLaunchTemplates", 2);
    add(requests, "ec2:CreateLaunchTemplate", 2);
    // `pkg/controllers/nodeclaim/tagging/controller.go`: one instance a second, read before.
    add(requests, "ec2:CreateTags", nodes);
    add(requests, "ec2:DescribeInstances", nodes);
    // `pkg/controllers/nodeclaim/lifecycle`: made; finalizer; metadata and status after launch,
    // registration and initialization; the annotation of the tagging controller.
    add(requests, "kubernetes:create nodeclaims", nodes);
    add(requests, "kubernetes:patch nodeclaims", nodes * 8);
    // Registration, then initialization.
    add(requests, "kubernetes:patch nodes", nodes * 2);
}

/// `nodes` with `pods` in all that are disrupted within `spread` seconds, and the instances of which are
/// gone `seconds` later.
pub(crate) fn terminate(requests: &mut Requests, nodes: u64, pods: u64, spread: u64, seconds: u64) {
    add(requests, "kubernetes:delete nodeclaims", nodes);
    add(requests, "kubernetes:delete nodes", nodes);
    // The taint; then the finalizers of node and claim, and the claim's conditions.
    add(requests, "kubernetes:patch nodes", nodes * 2);
    add(requests, "kubernetes:patch nodeclaims", nodes * 4);
    add(requests, "kubernetes:create pods/eviction", pods);
    // A batch is closed after a second.
    add(requests, "ec2:TerminateInstances", nodes.div_ceil(BATCH_MAX).max(spread.min(nodes)));
    let passes = seconds.div_ceil(TERMINATION_SECONDS);
    add(requests, "ec2:DescribeInstances", nodes.div_ceil(BATCH_MAX) * passes);
}

/// What it does in `seconds` of a cluster of `nodes` and `classes` in which nothing
/// happens.
pub(crate) fn idle(requests: &mut Requests, seconds: u64, nodes: u64, classes: u64) {
    add(requests, "ec2:DescribeInstances", seconds / COLLECTION_SECONDS * nodes.div_ceil(1_000));
    let looks = seconds / CLASS_SECONDS * classes;
    // Launches need what is no older than that, wherever in the period the story begins.
    add(requests, "ec2:DescribeSubnets", seconds.div_ceil(SUBNET_SECONDS) * classes);
    add(requests, "ec2:DescribeSecurityGroups", looks);
    add(requests, "ec2:DescribeImages", looks);
    add(requests, "sqs:ReceiveMessage", seconds / POLL_SECONDS);
    let dry_runs = seconds / VALIDATION_SECONDS * classes;
    for action in [
        "ec2:DescribeLaunchTemplates",
        "ec2:CreateLaunchTemplate",
        "ec2:DeleteLaunchTemplate",
        "ec2:CreateFleet",
        "ec2:RunInstances",
    ] {
        add(requests, action, dry_runs);
    }
    add(requests, "iam:GetInstanceProfile", seconds / PROFILE_SECONDS * classes);
    add(requests, "iam:ListInstanceProfiles", seconds / PROFILES_SECONDS);
    add(requests, "eks:DescribeCluster", seconds / VERSION_SECONDS);
    add(requests, "ssm:GetParameter", seconds / PARAMETER_SECONDS * PARAMETERS);
    add(requests, "kubernetes:patch leases", seconds / LEASE_SECONDS);
}

/// What this number of messages in its queue takes.
pub(crate) fn notices(requests: &mut Requests, messages: u64) {
    add(requests, "sqs:ReceiveMessage", messages.div_ceil(10));
    add(requests, "sqs:DeleteMessage", messages);
}
