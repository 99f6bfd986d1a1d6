//! What AWS shows: the cluster in EKS, the functions, who is admitted, roles.

use std::collections::{BTreeMap, BTreeSet};

use handlers::{InvalidSetting, SETTINGS, Settings};
use model::Function;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::concurrency,
    super::observed::{Observed, SPOT_ROLE, items, last_part, text},
    super::release,
    Judged, StepFinding, StepVerdict,
    cluster::{granted, wants_spot},
    told,
};
use crate::live::RoleArgs;

const READ_CURE: &str =
    "Use credentials that may read this (AWS_PROFILE), and the cluster's region (--region).";
const DEPLOY: &str = "journeyman deploy or sam deploy, as docs/install.md says.";
const ONE_RELEASE: &str = "Bring functions and command to one release, as docs/upgrade.md says.";
/// Variables of the functions that are no settings of theirs.
const OTHER_VARIABLES: [&str; 17] = [
    release::VARIABLE,
    "JOURNEYMAN_CLUSTER_NAME",
    "JOURNEYMAN_CLUSTER_ENDPOINT",
    "JOURNEYMAN_CLUSTER_CA_BUNDLE",
    "JOURNEYMAN_FORMER_RECORDS",
    "JOURNEYMAN_LOG_LEVEL",
    "JOURNEYMAN_OTLP_ENDPOINT",
    "JOURNEYMAN_TABLE_NAME",
    "JOURNEYMAN_PROVISION_QUEUE_URL",
    "JOURNEYMAN_DISRUPT_QUEUE_URL",
    "JOURNEYMAN_LAUNCH_QUEUE_URL",
    "JOURNEYMAN_SETTLE_QUEUE_URL",
    "JOURNEYMAN_DRAIN_QUEUE_URL",
    "JOURNEYMAN_RESOLVE_FUNCTION",
    "JOURNEYMAN_SWEEP_FUNCTION",
    "JOURNEYMAN_WAKE",
    "JOURNEYMAN_WAKE_KEY",
];

pub(super) fn eks(seen: &Observed) -> Judged {
    let Some(cluster) = told(&seen.eks, READ_CURE)? else {
        return Ok(StepVerdict::wrong(
            format!("EKS has no cluster {} in this account and region.", seen.cluster),
            "Name the cluster as EKS does, and its region by --region.",
        ));
    };
    let status = text(cluster, "/status");
    if status != "ACTIVE" {
        return Ok(StepVerdict::wrong(
            format!("The cluster is {status}."),
            "Wait until it is ACTIVE.",
        ));
    }
    let is_public = cluster.pointer("/resourcesVpcConfig/endpointPublicAccess");
    let is_private = is_public == Some(&Value::Bool(false));
    let functions = seen.functions.as_deref().unwrap_or_default();
    let outside =
        functions.iter().filter(|function| items(function, "/VpcConfig/SubnetIds").is_empty());
    if is_private && (functions.is_empty() || outside.count() > 0) {
        return Ok(StepVerdict::wrong(
            "The cluster's endpoint is private, and the functions are outside of its VPC: they cannot reach it.",
            "Give the stack SubnetIds and SecurityGroupIds from where the endpoint can be reached.",
        ));
    }
    let version = text(cluster, "/version");
    Ok(StepVerdict::Done(format!("Kubernetes {version}, {}", mode(cluster))))
}

pub(super) fn identity(seen: &Observed) -> Judged {
    let identity = told(&seen.identity, READ_CURE)?;
    Ok(match identity.verified() {
        Ok(()) => StepVerdict::Done(identity.server.clone()),
        Err(finding) => StepVerdict::Wrong(finding),
    })
}

/// How the cluster identifies an IAM principal.
fn mode(cluster: &Value) -> &str {
    match text(cluster, "/accessConfig/authenticationMode") {
        "" => "CONFIG_MAP",
        mode => mode,
    }
}

/// How `function` is deployed to work; otherwise what of that cannot be read.
pub(super) fn settings_of(function: &Value) -> Result<Settings, Vec<InvalidSetting>> {
    let get = |name: &str| variable(function, name).map(ToOwned::to_owned);
    Settings::read(|setting| setting.variable, get)
}

/// The variable `name` of a function.
fn variable<'a>(function: &'a Value, name: &str) -> Option<&'a str> {
    function.pointer("/Environment/Variables")?.get(name)?.as_str()
}

/// The deployed functions by which they are: SAM names them `STACK-ProvisionFunction-…`.
fn known(functions: &[Value]) -> BTreeMap<Function, Vec<&Value>> {
    let mut by_kind: BTreeMap<Function, Vec<&Value>> = BTreeMap::new();
    for kind in Function::ALL {
        let part = format!("-{kind}function");
        let is_kind = |function: &&Value| {
            text(function, "/FunctionName").to_ascii_lowercase().contains(&part)
        };
        by_kind.insert(kind, functions.iter().filter(is_kind).collect());
    }
    by_kind
}

/// The one function of `kind`, if it is deployed.
pub(in crate::doctor) fn function(functions: &[Value], kind: Function) -> Option<&Value> {
    known(functions).remove(&kind)?.first().copied()
}

pub(super) fn functions(seen: &Observed) -> Judged {
    let functions = told(&seen.functions, READ_CURE)?;
    if functions.is_empty() && seen.is_local() {
        return Ok(StepVerdict::Done("`journeyman local` runs them".to_owned()));
    }
    let mut differences = Vec::new();
    for (kind, deployed) in known(functions) {
        match deployed.as_slice() {
            // A stack has it only with a key.
            [] if kind == Function::Wake => {}
            [] => {
                differences.push(format!("The function {kind} is not deployed for this cluster."));
            }
            [_] => {}
            [..] => differences.push(format!(
                "There are {} functions {kind} for this cluster: two stacks serve it.",
                deployed.len()
            )),
        }
    }
    let deployed = known(functions).into_values().filter(|deployed| !deployed.is_empty()).count();
    let done = format!("{deployed} functions");
    let cure = format!("One stack for a cluster: {DEPLOY}");
    Ok(StepVerdict::of(differences, done, cure))
}

pub(super) fn release(seen: &Observed) -> Judged {
    let functions = told(&seen.functions, READ_CURE)?;
    if functions.is_empty() {
        return Ok(StepVerdict::NotNeeded("no function is deployed".to_owned()));
    }
    if let Some(former) = &seen.rollback {
        let others: Vec<&str> =
            release::of_functions(functions).into_iter().filter(|name| name != former).collect();
        let other = |name| format!("Functions are of release {name} and not of {former}.");
        let differences = others.into_iter().map(other).collect();
        let done = format!("all of the former release {former}");
        return Ok(StepVerdict::of(differences, done, ONE_RELEASE));
    }
    let settings: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.variable).collect();
    let mut differences = Vec::new();
    for function in functions {
        let variables = function.pointer("/Environment/Variables").and_then(Value::as_object);
        let variables: BTreeSet<&str> =
            variables.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let lacking: Vec<&str> = settings.difference(&variables).copied().collect();
        let unknown: Vec<&str> = variables
            .into_iter()
            .filter(|variable| {
                variable.starts_with("JOURNEYMAN_")
                    && !settings.contains(variable)
                    && !OTHER_VARIABLES.contains(variable)
            })
            .collect();
        let name = text(function, "/FunctionName");
        if !lacking.is_empty() {
            differences.push(format!(
                "{name} is older than this command: it has no {}.",
                lacking.join(", ")
            ));
        }
        if !unknown.is_empty() {
            differences.push(format!(
                "{name} is newer than this command, which does not know {}.",
                unknown.join(", ")
            ));
        }
    }
    let releases = release::of_functions(functions);
    differences.extend(release::difference(release::of_command().as_deref(), &releases));
    Ok(StepVerdict::of(differences, "all of this release", ONE_RELEASE))
}

pub(super) fn settings(seen: &Observed) -> Judged {
    let functions = told(&seen.functions, READ_CURE)?;
    let Some(first) = functions.first() else {
        return Ok(StepVerdict::NotNeeded("no function is deployed".to_owned()));
    };
    let mut differences = BTreeSet::new();
    for function in functions {
        let wrong = settings_of(function).err().unwrap_or_default();
        differences.extend(wrong.iter().map(|wrong| format!("{wrong}.")));
        for setting in SETTINGS {
            if variable(function, setting.variable) != variable(first, setting.variable) {
                differences
                    .insert(format!("The functions do not agree about {}.", setting.parameter));
            }
        }
    }
    let changed: Vec<String> = SETTINGS
        .iter()
        .filter_map(|setting| {
            let value = variable(first, setting.variable).filter(|value| !value.is_empty())?;
            (value != setting.default).then(|| format!("{}={value}", setting.parameter))
        })
        .collect();
    let done = match changed.as_slice() {
        [] => "all as by default".to_owned(),
        changed => format!("{}; the others as by default", changed.join(", ")),
    };
    let cure = "Correct the parameter of the stack (docs/settings.md), and deploy.";
    Ok(StepVerdict::of(differences.into_iter().collect(), done, cure))
}

pub(super) fn concurrency(seen: &Observed) -> Judged {
    let limit = told(&seen.concurrency, READ_CURE)?;
    let executions = |name: &str| limit[name].as_u64().unwrap_or_default();
    let (reserved, needed) = (executions("Reserved"), concurrency::needed());
    if reserved >= needed {
        return Ok(StepVerdict::Done(format!("{reserved} executions reserved")));
    }
    let unreserved = executions("UnreservedConcurrentExecutions");
    if unreserved + reserved < needed {
        return Ok(StepVerdict::wrong(
            format!(
                "The account has {} executions of Lambda at a time, {unreserved} of them unreserved, and the functions \
                 need up to {needed}: Lambda throttles them.",
                executions("ConcurrentExecutions")
            ),
            "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 \
             --desired-value 1000",
        ));
    }
    Ok(StepVerdict::Done(format!(
        "{unreserved} executions, shared with the account's other functions"
    )))
}

/// Who of IAM is whom in the cluster, by ARN of the role: the groups, and the type of the access entry.
struct Admitted<'a> {
    groups: BTreeMap<String, BTreeSet<String>>,
    types: BTreeMap<&'a str, &'a str>,
}

/// A line of `mapRoles`.
#[derive(Deserialize)]
struct MappedRole {
    rolearn: String,
    #[serde(default)]
    groups: Vec<String>,
}

/// What the cluster's mode has it look at: access entries, the ConfigMap `aws-auth`, or both.
fn admitted(seen: &Observed) -> Result<Admitted<'_>, String> {
    let mode = match &seen.eks {
        Ok(Some(cluster)) => mode(cluster),
        Ok(None) => return Err("the cluster is not known".to_owned()),
        Err(why) => return Err(why.clone()),
    };
    let mut admitted = Admitted { groups: BTreeMap::new(), types: BTreeMap::new() };
    if mode != "CONFIG_MAP" {
        for entry in seen.entries.as_ref().map_err(Clone::clone)? {
            let groups = items(entry, "/kubernetesGroups").iter().filter_map(Value::as_str);
            let principal = text(entry, "/principalArn");
            admitted
                .groups
                .entry(principal.to_owned())
                .or_default()
                .extend(groups.map(ToOwned::to_owned));
            admitted.types.insert(principal, text(entry, "/type"));
        }
    }
    if mode != "API" {
        let map = seen.aws_auth.as_ref().map_err(Clone::clone)?;
        let roles = map.as_ref().map(|map| text(map, "/data/mapRoles")).unwrap_or_default();
        let roles: Vec<MappedRole> = match roles.trim() {
            "" => Vec::new(),
            roles => serde_saphyr::from_str(roles)
                .map_err(|error| format!("mapRoles of the ConfigMap aws-auth: {error}"))?,
        };
        for MappedRole { rolearn, groups } in roles {
            admitted.groups.entry(rolearn).or_default().extend(groups);
        }
    }
    Ok(admitted)
}

pub(super) fn access(seen: &Observed) -> Judged {
    let functions = told(&seen.functions, READ_CURE)?;
    if functions.is_empty() {
        return Ok(StepVerdict::NotNeeded("no function is deployed".to_owned()));
    }
    let admitted = admitted(seen).map_err(|why| StepFinding::of(why, READ_CURE))?;
    // Those whose group has rights in the cluster.
    let bound: BTreeSet<String> = granted(RoleArgs::default())
        .into_values()
        .flat_map(|object| {
            let subjects = items(&object, "/subjects").iter();
            subjects.map(|subject| text(subject, "/name").to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let mut differences = Vec::new();
    for (kind, deployed) in known(functions) {
        let group = kind.group();
        for function in deployed.into_iter().filter(|_| bound.contains(&group)) {
            // An entry of the ConfigMap has no path.
            let role = text(function, "/Role");
            let short =
                format!("{}/{}", role.split('/').next().unwrap_or_default(), last_part(role));
            let groups = [role, &short].into_iter().filter_map(|role| admitted.groups.get(role));
            if !groups.flatten().any(|known| *known == group) {
                differences
                    .push(format!("The role of {kind}, {role}, is not in the group {group}."));
            }
        }
    }
    let cure = "Deploy with CreateAccessEntries=true. Where the cluster only has aws-auth: write each role and its \
                group into it (docs/install.md).";
    Ok(StepVerdict::of(differences, "each role in its group", cure))
}

/// The roles that EC2NodeClasses name.
pub fn roles_of(classes: &[Value]) -> BTreeSet<&str> {
    let roles =
        classes.iter().map(|class| text(class, "/spec/role")).filter(|role| !role.is_empty());
    roles.map(last_part).collect()
}

pub(super) fn node_roles(seen: &Observed) -> Judged {
    let classes = told(&seen.classes, READ_CURE)?;
    let roles = told(&seen.iam_roles, READ_CURE)?;
    let wanted = roles_of(classes);
    if wanted.is_empty() {
        return Ok(StepVerdict::NotNeeded("no EC2NodeClass names a role".to_owned()));
    }
    let mut differences = Vec::new();
    for role in &wanted {
        let Some(answer) =
            roles.iter().find(|(known, _)| known == role).and_then(|(_, role)| role.as_ref())
        else {
            differences.push(format!("There is no role {role} in IAM."));
            continue;
        };
        let statements = items(answer, "/Role/AssumeRolePolicyDocument/Statement");
        let trusts = |statement: &Value| {
            let service = statement.pointer("/Principal/Service");
            let services =
                service.map(|s| s.as_array().map_or_else(|| vec![s], |list| list.iter().collect()));
            services
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .any(|s| s.starts_with("ec2.amazonaws.com"))
        };
        if !statements.iter().any(trusts) {
            differences.push(format!("The role {role} does not trust ec2.amazonaws.com."));
        }
        let policies =
            items(answer, "/AttachedPolicies").iter().map(|policy| text(policy, "/PolicyName"));
        let policies: Vec<&str> = policies.collect();
        for (what, names) in [
            ("join a cluster", ["AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy"]),
            (
                "pull images",
                ["AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly"],
            ),
        ] {
            if !names.iter().any(|name| policies.contains(name)) {
                differences.push(format!(
                    "The role {role} may not {what}: it has no {}.",
                    names.join(" or ")
                ));
            }
        }
    }
    let done = wanted.into_iter().collect::<Vec<_>>().join(", ");
    let cure = "aws iam attach-role-policy --role-name ROLE --policy-arn arn:aws:iam::aws:policy/POLICY; \
                docs/install.md, step 3, creates a role.";
    Ok(StepVerdict::of(differences, done, cure))
}

pub(super) fn node_access(seen: &Observed) -> Judged {
    let classes = told(&seen.classes, READ_CURE)?;
    let roles = told(&seen.iam_roles, READ_CURE)?;
    let wanted = roles_of(classes);
    if wanted.is_empty() {
        return Ok(StepVerdict::NotNeeded("no EC2NodeClass names a role".to_owned()));
    }
    let admitted = admitted(seen).map_err(|why| StepFinding::of(why, READ_CURE))?;
    let mut differences = Vec::new();
    for (role, answer) in roles.iter().filter(|(role, _)| wanted.contains(role.as_str())) {
        let Some(arn) = answer.as_ref().map(|answer| text(answer, "/Role/Arn")) else { continue };
        let short = format!("{}/{}", arn.split('/').next().unwrap_or_default(), last_part(arn));
        let is_entry = admitted.types.get(arn).is_some_and(|kind| kind.starts_with("EC2"));
        let groups = [arn, &short].into_iter().filter_map(|arn| admitted.groups.get(arn));
        if !is_entry && !groups.flatten().any(|group| group == "system:nodes") {
            differences.push(format!(
                "Nodes of the role {role} are not admitted: they would get 401, and be \
                                      terminated after 15 minutes."
            ));
        }
    }
    let cure = format!(
        "aws eks create-access-entry --cluster-name {} --principal-arn ARN --type EC2_LINUX (EC2_WINDOWS for \
         Windows); where the cluster only has aws-auth, the group system:nodes there.",
        seen.cluster
    );
    Ok(StepVerdict::of(differences, "each role admitted", cure))
}

pub(super) fn spot(seen: &Observed) -> Judged {
    let pools = told(&seen.pools, READ_CURE)?;
    let roles = told(&seen.iam_roles, READ_CURE)?;
    if !wants_spot(pools) {
        return Ok(StepVerdict::NotNeeded("no NodePool asks for spot instances".to_owned()));
    }
    let is_there = roles.iter().any(|(role, answer)| role == SPOT_ROLE && answer.is_some());
    if is_there {
        return Ok(StepVerdict::Done(SPOT_ROLE.to_owned()));
    }
    Ok(StepVerdict::Wrong(StepFinding {
        found: vec![format!(
            "The account has no role {SPOT_ROLE}: EC2 refuses its first spot instance."
        )],
        cure: "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com".to_owned(),
    }))
}
