//! Looks at an installation with `kubectl` and `aws`, which know how to reach both. It only reads.

use std::{collections::BTreeSet, io, process::Command};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    observed::{Answer, Observed, SPOT_ROLE, items, text},
    steps,
};
use crate::{
    installation::InstallationArgs,
    program::{self, Failed},
};

/// How the two programs say that something is not there.
const ABSENT: [&str; 5] = [
    "NotFound)",
    "ResourceNotFoundException",
    "NoSuchEntity",
    "doesn't have a resource type",
    "no matching resources found",
];

/// An answer, which is nothing where there is no such thing.
fn asked(command: &mut Command) -> Answer<Option<Value>> {
    let program = command.get_program().to_string_lossy().into_owned();
    match program::output(command) {
        Ok(body) => {
            serde_json::from_slice(&body).map(Some).map_err(|error| format!("{program}: {error}"))
        }
        Err(Failed::Said(said)) if is_absent(&said) => Ok(None),
        // What went before the last line is the log of its tries.
        Err(Failed::Said(said)) => {
            Err(format!("{program}: {}", said.lines().last().unwrap_or_default()))
        }
        Err(Failed::NotStarted(error)) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("The command `{program}` is not there."))
        }
        Err(Failed::NotStarted(error)) => Err(format!("{program}: {error}")),
    }
}

/// Whether a program says that what it was asked for is not there.
pub(crate) fn is_absent(said: &str) -> bool {
    ABSENT.iter().any(|absent| said.contains(absent))
}

/// What `kubectl get` answers.
pub(crate) fn kubectl(args: &InstallationArgs, words: &[&str]) -> Answer<Option<Value>> {
    asked(args.kubectl.command().arg("get").args(words))
}

/// All objects of kinds. A cluster that does not know a kind has none of it.
pub(crate) fn objects(args: &InstallationArgs, kinds: &str) -> Answer<Vec<Value>> {
    let list = kubectl(args, &[kinds, "--all-namespaces", "--output=json"])?;
    Ok(list.map(|list| items(&list, "/items").to_vec()).unwrap_or_default())
}

/// What `aws` answers.
pub(crate) fn aws(args: &InstallationArgs, words: &[&str]) -> Answer<Option<Value>> {
    asked(&mut args.aws(words))
}

/// The functions that say that they are for the cluster.
fn functions(args: &InstallationArgs) -> Answer<Vec<Value>> {
    let list = aws(args, &["lambda", "list-functions"])?.unwrap_or(Value::Null);
    let functions = items(&list, "/Functions").iter().filter(|function| {
        text(function, "/Environment/Variables/JOURNEYMAN_CLUSTER_NAME") == args.cluster
    });
    Ok(functions.cloned().collect())
}

fn entries(args: &InstallationArgs) -> Answer<Vec<Value>> {
    let cluster = args.cluster.as_str();
    let list = aws(args, &["eks", "list-access-entries", "--cluster-name", cluster])?;
    let mut entries = Vec::new();
    for arn in list.iter().flat_map(|list| items(list, "/accessEntries")).filter_map(Value::as_str)
    {
        let words =
            ["eks", "describe-access-entry", "--cluster-name", cluster, "--principal-arn", arn];
        // One that went meanwhile is none.
        entries.extend(aws(args, &words)?.and_then(|answer| answer.get("accessEntry").cloned()));
    }
    Ok(entries)
}

fn iam_roles(
    args: &InstallationArgs,
    classes: &Answer<Vec<Value>>,
) -> Answer<Vec<(String, Option<Value>)>> {
    let mut names: BTreeSet<&str> = [SPOT_ROLE].into();
    names.extend(classes.as_ref().map(|classes| steps::roles_of(classes)).unwrap_or_default());
    let mut roles = Vec::new();
    for name in names {
        let mut role = aws(args, &["iam", "get-role", "--role-name", name])?;
        if name != SPOT_ROLE
            && let Some(Value::Object(role)) = &mut role
        {
            let words = ["iam", "list-attached-role-policies", "--role-name", name];
            let attached =
                aws(args, &words)?.and_then(|answer| answer.get("AttachedPolicies").cloned());
            role.insert("AttachedPolicies".to_owned(), attached.unwrap_or_default());
        }
        roles.push((name.to_owned(), role));
    }
    Ok(roles)
}

/// Leases of all namespaces.
pub(crate) fn leases(args: &InstallationArgs) -> Answer<Vec<Value>> {
    objects(args, "leases.coordination.k8s.io")
}

/// NodeClaims.
pub(crate) fn claims(args: &InstallationArgs) -> Answer<Vec<Value>> {
    objects(args, "nodeclaims.karpenter.sh")
}

/// Looks at everything.
pub(crate) fn observed(args: &InstallationArgs, now: Timestamp) -> Observed {
    let classes = objects(args, "ec2nodeclasses.karpenter.k8s.aws");
    let version = kubectl(args, &["--raw", "/version"]);
    let eks = aws(args, &["eks", "describe-cluster", "--name", &args.cluster]);
    Observed {
        now,
        cluster: args.cluster.clone(),
        version: version.and_then(|version| version.ok_or_else(|| "it says no version".to_owned())),
        eks: eks.map(|answer| answer.and_then(|answer| answer.get("cluster").cloned())),
        functions: functions(args),
        entries: entries(args),
        aws_auth: kubectl(
            args,
            &["configmap", "aws-auth", "--namespace=kube-system", "--output=json"],
        ),
        iam_roles: iam_roles(args, &classes),
        definitions: objects(args, "customresourcedefinitions.apiextensions.k8s.io"),
        rbac: objects(
            args,
            "clusterroles.rbac.authorization.k8s.io,clusterrolebindings.rbac.authorization.k8s.io,\
             roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io",
        ),
        leases: leases(args),
        pools: objects(args, "nodepools.karpenter.sh"),
        claims: claims(args),
        classes,
    }
}
