//! Where functions and nodes are put: subnets, security groups, routes.

use model::{join::JoinNetwork, words::counted};

use super::{
    super::observed::{ClassSelection, Observed},
    Judged, StepVerdict, told,
};

const READ_CURE: &str =
    "Use credentials that may describe subnets, security groups and route tables.";

/// Whether the functions get as far as the API server.
pub(super) fn functions(seen: &Observed) -> Judged {
    let networks = told(&seen.networks, READ_CURE)?;
    if networks.is_empty() {
        return Ok(StepVerdict::NotNeeded("no function is in a VPC".to_owned()));
    }
    let troubles = networks.iter().filter_map(|(subnet, network)| trouble(subnet, network));
    let done = format!("from {}", counted(networks.len(), "subnet"));
    let cure = "Let the functions' security groups (SecurityGroupIds of the stack) speak to port 443, let that of \
                the cluster be spoken to by them, and give their subnets (SubnetIds) a NAT gateway where the API \
                server has no address in the VPC (docs/install.md).";
    Ok(StepVerdict::of(troubles.collect(), done, cure))
}

/// What keeps a function in `subnet` from the API server.
fn trouble(subnet: &str, network: &JoinNetwork) -> Option<String> {
    if !network.lets_out {
        return Some("No security group of the functions lets them speak to port 443.".to_owned());
    }
    if network.lets_in == Some(false) {
        return Some(
            "No security group of the API server lets those of the functions in on port 443."
                .to_owned(),
        );
    }
    // A function has no public address, with which an internet gateway could send it out.
    //
    // <https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc-internet.html>
    let is_usable = |target: &str| !target.starts_with("igw-");
    let mut ways = network.ways_out.iter().filter(|way| !way.is_black_hole);
    if network.is_private || ways.any(|way| is_usable(&way.target)) {
        return None;
    }
    let table = network.route_table.as_deref().unwrap_or("none");
    Some(format!(
        "The API server has no address in the functions' VPC, and subnet {subnet} (route table {table}) has no way \
         out for what has no public address."
    ))
}

/// Whether there is what EC2NodeClasses select.
pub(super) fn discovery(seen: &Observed) -> Judged {
    let selected = told(&seen.selected, READ_CURE)?;
    if selected.is_empty() {
        return Ok(StepVerdict::NotNeeded("there is no EC2NodeClass".to_owned()));
    }
    let missing = selected.iter().flat_map(|ClassSelection { class, subnets, security_groups }| {
        let none = |count: usize, what: &str, field: &str| {
            (count == 0).then(|| format!("EC2NodeClass {class}: {field} selects no {what}."))
        };
        [
            none(*subnets, "subnet", "subnetSelectorTerms"),
            none(*security_groups, "security group", "securityGroupSelectorTerms"),
        ]
    });
    let counted = selected.iter().map(|selection| {
        let ClassSelection { class, subnets, security_groups } = selection;
        let (subnets, groups) =
            (counted(*subnets, "subnet"), counted(*security_groups, "security group"));
        format!("{class}: {subnets}, {groups}")
    });
    let done = counted.collect::<Vec<_>>().join("; ");
    let cure = format!(
        "Tag the subnets and the security group of nodes as the terms say, such as \
         karpenter.sh/discovery={} (docs/install.md), or name them by id.",
        seen.cluster
    );
    Ok(StepVerdict::of(missing.flatten().collect(), done, cure))
}
