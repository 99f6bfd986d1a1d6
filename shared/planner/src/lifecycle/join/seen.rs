//! What EC2 and EKS say of an instance, as causes.

use model::{
    SecurityGroupId, SubnetId,
    join::{
        AuthenticationMode, JoinEvidence, JoinNetwork, JoinQuestions, JoinReason, JoiningInstance,
        NodeAccess,
    },
};

/// Why the node cannot join, whatever its console says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) reason: JoinReason,
    pub(super) words: String,
}

/// The types of access entries that may let nodes in.
///
/// <https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html>
const NODE_ENTRIES: [&str; 5] =
    ["EC2", "EC2_LINUX", "EC2_WINDOWS", "HYBRID_LINUX", "HYPERPOD_LINUX"];

/// What of `evidence` keeps the node from joining, as far as it was `asked` for; what explains the rest first.
pub(super) fn causes(evidence: &JoinEvidence, asked: JoinQuestions) -> Vec<Cause> {
    let cause = |reason, words: Option<String>| Some(Cause { reason, words: words? });
    let image = cause(JoinReason::ArchitectureMismatch, of_image(evidence));
    let network = cause(JoinReason::ApiServerUnreachable, of_network(evidence));
    [
        image.filter(|_| asked.image),
        network.filter(|_| asked.network),
        of_access(evidence).filter(|_| asked.access),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What is known beside a cause that the console tells, of which nothing seen is the cause.
pub(super) fn beside(evidence: &JoinEvidence, told: JoinReason) -> Option<String> {
    match (told, &evidence.access, &evidence.image, &evidence.network) {
        (JoinReason::NodeRoleRefused, Some(Ok(access)), ..) => match access {
            NodeAccess::Entry { role, kind } => Some(format!(
                "the API server refuses role {role}, which has an access entry of type {kind}"
            )),
            NodeAccess::NoEntry { role, .. } => Some(format!(
                "the API server refuses role {role}, which the ConfigMap aws-auth does not map to nodes"
            )),
            NodeAccess::NoRole => None,
        },
        (JoinReason::ArchitectureMismatch, _, Some(Ok(Some(image))), _) => Some(format!(
            "its image {} is for {}, as it is: a program on it is not",
            image.name, image.architecture
        )),
        (JoinReason::ApiServerUnreachable, .., Some(Ok(_))) => Some(
            "routes and security groups let it through: look at network ACLs, and at what its way out leads to"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Why what was asked for could not be looked at.
pub(super) fn unseen(evidence: &JoinEvidence) -> impl Iterator<Item = &str> {
    let JoinEvidence { console, checks, instance, access, network, image, .. } = evidence;
    [
        console.as_ref().err(),
        checks.as_ref().err(),
        instance.as_ref().and_then(|seen| seen.as_ref().err()),
        access.as_ref().and_then(|seen| seen.as_ref().err()),
        network.as_ref().and_then(|seen| seen.as_ref().err()),
        image.as_ref().and_then(|seen| seen.as_ref().err()),
    ]
    .into_iter()
    .flatten()
    .map(String::as_str)
}

fn of_image(evidence: &JoinEvidence) -> Option<String> {
    let Some(Ok(Some(image))) = &evidence.image else { return None };
    let wanted = evidence.architecture.as_ref()?;
    let words = || {
        let (name, made_for) = (&image.name, &image.architecture);
        format!("its image {name} is for {made_for}, and the instance is {wanted}")
    };
    (image.architecture != *wanted).then(words)
}

fn of_network(evidence: &JoinEvidence) -> Option<String> {
    let (Some(Ok(network)), Some(Ok(instance))) = (&evidence.network, &evidence.instance) else {
        return None;
    };
    let groups: Vec<&str> = instance.security_groups.iter().map(SecurityGroupId::as_str).collect();
    let groups = groups.join(", ");
    if !network.lets_out {
        return Some(format!(
            "no security group of the instance ({groups}) lets it out to port 443"
        ));
    }
    if network.lets_in == Some(false) {
        return Some(format!(
            "no security group of the API server lets those of the instance ({groups}) in on port 443"
        ));
    }
    if network.is_private { None } else { of_routes(network, instance) }
}

/// Why nothing leaves the VPC, where it has to.
fn of_routes(network: &JoinNetwork, instance: &JoiningInstance) -> Option<String> {
    let subnet = instance.subnet.as_ref().map(SubnetId::as_str).unwrap_or_default();
    let table = network.route_table.as_deref().unwrap_or("none");
    let open: Vec<&str> = network
        .ways_out
        .iter()
        .filter(|way| !way.is_black_hole)
        .map(|way| way.target.as_str())
        .collect();
    let public = "the API server has no address in the VPC";
    match (network.ways_out.first(), open.as_slice()) {
        (None, _) => Some(format!(
            "{public}, and subnet {subnet} (route table {table}) has no route out of the VPC"
        )),
        (Some(way), []) => Some(format!(
            "{public}, and the route of subnet {subnet} (route table {table}) to {} is a black hole",
            way.target
        )),
        (Some(_), targets) => {
            let is_internet = |target: &&str| target.starts_with("igw-");
            let is_stuck = targets.iter().all(is_internet) && !instance.has_public_address;
            is_stuck.then(|| {
                let target = targets.join(", ");
                format!(
                    "{public}, and the way out of subnet {subnet} (route table {table}) is {target}, for which \
                     the instance has no public address"
                )
            })
        }
    }
}

fn of_access(evidence: &JoinEvidence) -> Option<Cause> {
    let Some(Ok(access)) = &evidence.access else { return None };
    match access {
        NodeAccess::NoRole => Some(Cause {
            reason: JoinReason::NoNodeRole,
            words: "the instance has no role".to_owned(),
        }),
        NodeAccess::NoEntry { role, mode } => {
            let words = match mode {
                AuthenticationMode::AccessEntries => {
                    format!("role {role} has no access entry in the cluster")
                }
                AuthenticationMode::Both => format!(
                    "role {role} has no access entry in the cluster, unless the ConfigMap aws-auth maps it"
                ),
                // EKS does not know who is mapped.
                AuthenticationMode::ConfigMap => return None,
            };
            Some(Cause { reason: JoinReason::NoAccessEntry, words })
        }
        NodeAccess::Entry { role, kind } if !NODE_ENTRIES.contains(&kind.as_str()) => Some(Cause {
            reason: JoinReason::NodeRoleRefused,
            words: format!(
                "the access entry of role {role} is of type {kind}, and nodes need EC2_LINUX or EC2_WINDOWS"
            ),
        }),
        NodeAccess::Entry { .. } => None,
    }
}
