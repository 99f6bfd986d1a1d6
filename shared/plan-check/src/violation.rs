//! What can be wrong with a plan, each with the object that it is about.

use model::{
    BatchId, CapacityType, CommandId, DeletionReason, HourlyPrice, InstanceTypeName, LabelKey,
    NodeClaimName, NodeClassName, NodePoolName, OfferingKey, PodKey, ledger::Counters,
    plan::Target,
};

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The plan was made on other counters than the facts hold.
    #[error("the plan is made on counters {parent}, the facts hold {head}")]
    Parent {
        /// Of the plan.
        parent: Counters,
        /// Of the facts.
        head: Counters,
    },

    /// A pod that the facts do not know.
    #[error("pod {0} is not known")]
    PodUnknown(PodKey),
    /// A pod that has two places, or a place and none.
    #[error("pod {0} is in two places")]
    PodTwice(PodKey),
    /// A pod that asks for what is not supported has a place.
    #[error("pod {pod} is placed although it asks for what is not supported yet: {what}")]
    PodUnsupported {
        /// The pod.
        pod: PodKey,
        /// What it asks for.
        what: String,
    },
    /// A pod that has or finds its place without the plan.
    #[error("pod {0} is placed although it does not need a node")]
    PodNeedsNoNode(PodKey),
    /// A pod that cannot go where it was put.
    #[error("pod {pod} does not tolerate {taint} of {place}")]
    Taint {
        /// The pod.
        pod: PodKey,
        /// The taint.
        taint: String,
        /// The node or claim.
        place: String,
    },
    /// A pod whose node selector or required affinity its place does not meet.
    #[error("pod {pod} does not go with the labels of {place}: {why}")]
    Labels {
        /// The pod.
        pod: PodKey,
        /// The node or claim, and what EC2 may launch for it.
        place: String,
        /// The requirement.
        why: String,
    },
    /// Pods and daemons together are more than their place has.
    #[error("{place} has no room: {needed} is needed, {room} is there")]
    Resources {
        /// The node or claim, and the instance type.
        place: String,
        /// Those that the plan puts there.
        pods: Vec<PodKey>,
        /// What pods and daemons need.
        needed: String,
        /// What there is.
        room: String,
    },
    /// A pod with a volume that cannot be used.
    #[error("pod {pod} is placed although its volumes cannot be used: {why}")]
    VolumeUnusable {
        /// The pod.
        pod: PodKey,
        /// What is wrong.
        why: String,
    },
    /// A pod with a ResourceClaim that cannot be used.
    #[error("pod {pod} is placed although its ResourceClaims cannot be used: {why}")]
    DevicesUnusable {
        /// The pod.
        pod: PodKey,
        /// What is wrong.
        why: String,
    },
    /// Devices that pods claim, and that their place does not have, or not all of them at once.
    #[error("{place} does not have all devices that its pods claim: {why}")]
    Devices {
        /// The node or claim, and the instance type.
        place: String,
        /// Those that the plan puts there.
        pods: Vec<PodKey>,
        /// The ResourceClaims, and what is wrong with them.
        why: String,
    },
    /// More volumes than a node attaches.
    #[error("{place} would attach {count} volumes of {driver}, it takes {limit}")]
    Attachments {
        /// The node.
        place: String,
        /// Those that the plan puts there.
        pods: Vec<PodKey>,
        /// The CSI driver.
        driver: String,
        /// With this plan.
        count: usize,
        /// The most.
        limit: u32,
    },
    /// Two that want the same port of one node.
    #[error("pod {pod} and {other} both take port {port} of {place}")]
    HostPort {
        /// The pod.
        pod: PodKey,
        /// The node or claim.
        place: String,
        /// The other pod, or a daemon.
        other: String,
        /// The port.
        port: u16,
    },
    /// A hard spread constraint that does not hold.
    #[error("pod {pod} breaks its topology spread: {why}")]
    Spread {
        /// The pod.
        pod: PodKey,
        /// In figures.
        why: String,
    },
    /// Required affinity that does not hold.
    #[error("pod {pod} breaks its affinity: {why}")]
    Affinity {
        /// The pod.
        pod: PodKey,
        /// Who is missing.
        why: String,
    },
    /// Required anti-affinity that does not hold.
    #[error("pod {pod} may not be with {other}, and both may be in {domain}")]
    AntiAffinity {
        /// The pod that says so.
        pod: PodKey,
        /// The other one.
        other: PodKey,
        /// Where.
        domain: String,
    },
    /// A reservation that more claims hold than it has instances.
    #[error("{claims} claims hold the capacity reservation {id}, which has {count} left")]
    Reservation {
        /// `cr-…`.
        id: String,
        /// With this plan.
        claims: usize,
        /// What is left.
        count: u32,
    },
    /// Pods were put where nothing is, or where everything ends.
    #[error("{} cannot take pods: {why}", shown(target))]
    Target {
        /// Where.
        target: Target,
        /// Why not.
        why: &'static str,
    },

    /// A name that two new claims have.
    #[error("claim {0} is created twice")]
    ClaimTwice(NodeClaimName),
    /// A new claim that is there already.
    #[error("claim {0} is created although it exists")]
    ClaimExists(NodeClaimName),
    /// A new claim that has what only an older claim can have.
    #[error("claim {claim} is not a new one: {why}")]
    ClaimNotNew {
        /// The claim.
        claim: NodeClaimName,
        /// What is not as in a new claim.
        why: String,
    },
    /// A new claim that is not what its pool asks for.
    #[error("claim {claim} is not what NodePool {node_pool} asks for: {why}")]
    ClaimUnlikePool {
        /// The claim.
        claim: NodeClaimName,
        /// Its pool.
        node_pool: NodePoolName,
        /// What differs.
        why: String,
    },
    /// A new claim states less than it is for, or more than its types have.
    #[error("claim {claim} states {what} wrongly: {why}")]
    ClaimStates {
        /// The claim.
        claim: NodeClaimName,
        /// The field.
        what: &'static str,
        /// In figures.
        why: String,
    },
    /// A label or taint of a new claim that Kubernetes takes for none, and that something on the
    /// way to its kubelet might take for more than that; or a requirement that lists such a value.
    #[error("claim {claim} has the {what} {text:?}, which is none that Kubernetes takes")]
    NotALabel {
        /// The claim.
        claim: NodeClaimName,
        /// `label`, `taint` or `requirement`.
        what: &'static str,
        /// `key=value`; of a requirement all of it.
        text: String,
    },
    /// A new claim that no pod needs.
    #[error("claim {0} is created for no pod")]
    ClaimForNothing(NodeClaimName),
    /// Nodes of a static pool that are not what its `replicas` say.
    #[error("static NodePool {node_pool}: {why}")]
    Replicas {
        /// The pool.
        node_pool: NodePoolName,
        /// What is wrong.
        why: String,
    },
    /// More claims than a cluster takes.
    #[error("with this plan there are {claims} claims, and a cluster has at most {claims_max}")]
    TooManyClaims {
        /// All of them.
        claims: usize,
        /// The most.
        claims_max: usize,
    },
    /// Claims of a batch that cannot be launched by one request.
    #[error("batch {batch}: {why}")]
    Batch {
        /// The batch.
        batch: BatchId,
        /// What is wrong.
        why: String,
    },
    /// A claim of a pool that may not launch.
    #[error("claim {claim}: NodePool {node_pool} {why}")]
    PoolUnusable {
        /// The claim.
        claim: NodeClaimName,
        /// The pool.
        node_pool: NodePoolName,
        /// Why not.
        why: String,
    },
    /// A claim of a class that may not be used.
    #[error("claim {claim}: EC2NodeClass {node_class} {why}")]
    ClassUnusable {
        /// The claim.
        claim: NodeClaimName,
        /// The class.
        node_class: NodeClassName,
        /// Why not.
        why: String,
    },

    /// An instance type that the claim may not be launched as.
    #[error("claim {claim} may not be launched as {instance_type}: {why}")]
    InstanceType {
        /// The claim.
        claim: NodeClaimName,
        /// The type.
        instance_type: InstanceTypeName,
        /// Why not.
        why: String,
    },
    /// A list of instance types that cannot be sent.
    #[error("claim {claim} has a wrong list of instance types: {why}")]
    InstanceTypes {
        /// The claim.
        claim: NodeClaimName,
        /// What is wrong.
        why: String,
    },
    /// `minValues` that the instance types do not reach.
    #[error("claim {claim} needs {wanted} values of {label}, its instance types have {found}")]
    MinValues {
        /// The claim.
        claim: NodeClaimName,
        /// The label.
        label: LabelKey,
        /// `minValues`.
        wanted: u32,
        /// How many there are.
        found: usize,
    },
    /// What is called cheapest is not.
    #[error("claim {claim}: {stated} at {stated_price} is not its cheapest offering: {why}")]
    Cheapest {
        /// The claim.
        claim: NodeClaimName,
        /// What the plan calls cheapest.
        stated: OfferingKey,
        /// At what price.
        stated_price: HourlyPrice,
        /// What is.
        why: String,
    },
    /// More than a pool may own.
    #[error("NodePool {node_pool} would own {used} of {resource}, its limit is {limit}")]
    Limit {
        /// The pool.
        node_pool: NodePoolName,
        /// The resource.
        resource: String,
        /// With this plan.
        used: String,
        /// The limit.
        limit: String,
    },

    /// More than nodes may cost.
    #[error("{whose} would cost ${sum} an hour, its cap is ${most}")]
    Dollars {
        /// The NodePool, or the cluster.
        whose: String,
        /// With this plan.
        sum: HourlyPrice,
        /// The cap.
        most: HourlyPrice,
    },

    /// A new node with several pods that hold more of their pool than one may.
    #[error(
        "claim {claim} would hold more than {share} of the {resource} that pods of NodePool {node_pool} request"
    )]
    NodeShare {
        /// The claim.
        claim: NodeClaimName,
        /// Its pool.
        node_pool: NodePoolName,
        /// CPU or memory.
        resource: String,
        /// As the pool says it.
        share: String,
    },

    /// A changed claim that the ledger does not hold.
    #[error("claim {0} is changed although it is not known")]
    ChangeUnknown(NodeClaimName),
    /// A command that is begun, or rolled back, breaks a rule.
    #[error("command {command}: {why}")]
    Command {
        /// The command.
        command: CommandId,
        /// The rule, in words.
        why: String,
    },
    /// A claim that is changed twice.
    #[error("claim {0} is changed twice")]
    ChangeTwice(NodeClaimName),
    /// A changed claim that is not one version on.
    #[error("claim {claim} is changed to version {version}, the ledger holds {stored}")]
    ChangeVersion {
        /// The claim.
        claim: NodeClaimName,
        /// Of the change.
        version: u64,
        /// Of the ledger.
        stored: u64,
    },
    /// A change that a decision may not make.
    #[error("claim {claim} is changed in a way that no decision may: {why}")]
    ChangeForbidden {
        /// The claim.
        claim: NodeClaimName,
        /// What it does.
        why: String,
    },
    /// A claim that is deleted without the reason that is given.
    #[error("claim {claim} is deleted as {reason} although {why}")]
    Deleted {
        /// The claim.
        claim: NodeClaimName,
        /// The reason.
        reason: DeletionReason,
        /// What speaks against it.
        why: String,
    },
    /// More nodes of a pool disrupted than its budgets allow.
    #[error(
        "NodePool {node_pool} disrupts {disrupted} empty nodes, its budgets leave {allowed} of {total}"
    )]
    Budget {
        /// The pool.
        node_pool: NodePoolName,
        /// By this plan.
        disrupted: usize,
        /// What is left.
        allowed: usize,
        /// The nodes that count.
        total: usize,
    },
    /// An offering is unavailable, but its time is over.
    #[error("the offering {capacity_type} of {instance_type} cools down until a time that is over")]
    Cooling {
        /// How it is paid for.
        capacity_type: CapacityType,
        /// Of what.
        instance_type: InstanceTypeName,
    },
}

fn shown(target: &Target) -> String {
    match target {
        Target::Node(name) => format!("node {name}"),
        Target::Claim(name) => format!("claim {name}"),
    }
}
