//! The cluster of a kubeconfig, read with `kubectl get`: whatever it takes to reach it (contexts,
//! credential plugins, proxies), `kubectl` knows already. Nothing is changed.

use std::{
    ffi::OsStr,
    io,
    process::{Command, Output, Stdio},
};

use api::manifest::{self, Manifest};

use super::progress::Progress;
use crate::{args::PlanArgs, manifests::BadInput};

/// A kind of objects.
struct Kind {
    name: &'static str,
    /// Whether a cluster may not know it.
    is_optional: bool,
}

const fn needed(name: &'static str) -> Kind {
    Kind { name, is_optional: false }
}

const fn optional(name: &'static str) -> Kind {
    Kind { name, is_optional: true }
}

const BUFFERS: &str = "capacitybuffers.autoscaling.x-k8s.io";

/// What is read, capacity before pods: what is bound meanwhile is planned too little, never too much.
const KINDS: &[Kind] = &[
    needed("nodepools.karpenter.sh"),
    needed("ec2nodeclasses.karpenter.k8s.aws"),
    optional("nodeclaims.karpenter.sh"),
    optional("nodeoverlays.karpenter.sh"),
    optional(BUFFERS),
    needed("nodes"),
    needed("daemonsets.apps"),
    needed("namespaces"),
    needed("storageclasses.storage.k8s.io"),
    needed("persistentvolumeclaims"),
    needed("persistentvolumes"),
    needed("csinodes.storage.k8s.io"),
    needed("poddisruptionbudgets.policy"),
    needed("pods"),
];

/// What buffers may refer to.
const REFERABLE: &[Kind] = &[
    needed("podtemplates"),
    needed("deployments.apps"),
    needed("statefulsets.apps"),
    needed("replicasets.apps"),
];

/// Reads all of it.
pub(super) fn read(args: &PlanArgs, progress: &Progress) -> Result<Vec<Manifest>, BadInput> {
    let mut manifests = Vec::new();
    let mut has_buffers = false;
    for kind in KINDS {
        progress.says(format!("reading {}", kind.name));
        let Some(manifest) = get(args, kind)? else { continue };
        has_buffers |= kind.name == BUFFERS && !manifest.objects.is_empty();
        manifests.push(manifest);
    }
    for kind in REFERABLE.iter().filter(|_| has_buffers) {
        manifests.extend(get(args, kind)?);
    }
    Ok(manifests)
}

/// All objects of `kind`; `None` is a cluster that does not know it.
fn get(args: &PlanArgs, kind: &Kind) -> Result<Option<Manifest>, BadInput> {
    let program =
        args.kubectl.as_deref().map_or_else(|| OsStr::new("kubectl"), |path| path.as_os_str());
    let mut command = Command::new(program);
    command.args(["get", kind.name, "--all-namespaces", "--output=json"]);
    if let Some(context) = &args.context {
        command.arg(format!("--context={context}"));
    }
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(&error))?;
    let Output { status, stdout, stderr } = output;
    let said = String::from_utf8_lossy(&stderr);
    if !status.success() {
        if kind.is_optional && said.contains("doesn't have a resource type") {
            return Ok(None);
        }
        let said = said.trim();
        return Err(BadInput::one(format!("kubectl get {}: {said}", kind.name)));
    }
    let text = String::from_utf8(stdout)
        .map_err(|error| BadInput::one(format!("kubectl get {}: {error}", kind.name)))?;
    Ok(Some(manifest::read(&text, &format!("kubectl get {}", kind.name))))
}

fn not_started(error: &io::Error) -> BadInput {
    BadInput::one(match error.kind() {
        io::ErrorKind::NotFound => {
            "--live reads with kubectl, which is not there: install it, or save what \
             `kubectl get … -o json` prints elsewhere and plan that"
                .to_owned()
        }
        _ => format!("kubectl: {error}"),
    })
}
