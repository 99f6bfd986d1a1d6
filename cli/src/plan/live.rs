//! The cluster of a kubeconfig, read with `kubectl get`: whatever it takes to reach it (contexts,
//! credential plugins, proxies), `kubectl` knows already. Nothing is changed.

use std::io;

use api::{
    files::{self, Manifest},
    lists::{Page, PodReader},
    objects::PodManifest,
};
use model::limits::PAGES_PER_LISTING_MAX;

use super::progress::Progress;
use crate::{
    args::PlanArgs,
    manifests::BadInput,
    program::{self, Failed},
};

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
];

/// client-go's page size: the pods of a large cluster are hundreds of megabytes of text.
const PODS: &str = "/api/v1/pods?limit=500";

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
    progress.says("reading pods".to_owned());
    manifests.push(Manifest::of_pods(pods(args)?, "kubectl get pods"));
    Ok(manifests)
}

/// All pods, page by page. Pages that expired while they were read are begun again once.
fn pods(args: &PlanArgs) -> Result<Page<PodManifest>, BadInput> {
    match pods_once(args) {
        Err(Failed::Said(said)) if said.contains("(Expired)") => pods_once(args),
        other => other,
    }
    .map_err(|failed| bad_input(&failed, "pods"))
}

fn pods_once(args: &PlanArgs) -> Result<Page<PodManifest>, Failed> {
    let mut reader = PodReader::default();
    let mut all: Option<Page<PodManifest>> = None;
    for _ in 0..PAGES_PER_LISTING_MAX {
        let next = all.as_ref().and_then(|page| page.continue_token.as_ref());
        let next = next.map(|token| format!("&continue={token}")).unwrap_or_default();
        let body = output(args, &["--raw", &format!("{PODS}{next}")])?;
        let page = reader.page(&body).map_err(|error| Failed::Said(error.to_string()))?;
        let is_last = page.continue_token.is_none();
        match &mut all {
            Some(all) => {
                all.items.extend(page.items);
                all.malformed.extend(page.malformed);
                all.continue_token = page.continue_token;
            }
            None => all = Some(page),
        }
        if is_last {
            break;
        }
    }
    match all {
        Some(page) if page.continue_token.is_none() => Ok(page),
        _ => Err(Failed::Said(format!("there are more than {PAGES_PER_LISTING_MAX} pages"))),
    }
}

/// All objects of `kind`; `None` is a cluster that does not know it.
fn get(args: &PlanArgs, kind: &Kind) -> Result<Option<Manifest>, BadInput> {
    match output(args, &[kind.name, "--all-namespaces", "--output=json"]) {
        Ok(body) => {
            let text = String::from_utf8(body)
                .map_err(|error| BadInput::one(format!("kubectl get {}: {error}", kind.name)))?;
            Ok(Some(files::read(&text, &format!("kubectl get {}", kind.name))))
        }
        Err(Failed::Said(said))
            if kind.is_optional && said.contains("doesn't have a resource type") =>
        {
            Ok(None)
        }
        Err(failed) => Err(bad_input(&failed, kind.name)),
    }
}

fn bad_input(failed: &Failed, what: &str) -> BadInput {
    match failed {
        Failed::NotStarted(error) => not_started(error),
        Failed::Said(said) => BadInput::one(format!("kubectl get {what}: {}", essence(said))),
    }
}

/// What kubectl says without the log of its tries, which says the same several times before: lines such
/// as `E0801 12:00:00.000000   1 memcache.go:265] "Unhandled Error" …`.
fn essence(said: &str) -> String {
    let is_log = |line: &&str| {
        let mut letters = line.chars();
        letters.next().is_some_and(|c| matches!(c, 'E' | 'W' | 'I'))
            && letters.by_ref().take(4).all(|c| c.is_ascii_digit())
            && line.contains(".go:")
    };
    let essential: Vec<&str> = said.lines().filter(|line| !is_log(line)).collect();
    let lines =
        if essential.is_empty() { said.lines().last().into_iter().collect() } else { essential };
    lines.join("\n")
}

/// What `kubectl get` prints.
fn output(args: &PlanArgs, words: &[&str]) -> Result<Vec<u8>, Failed> {
    let mut command = program::kubectl(args.kubectl.as_deref(), args.context.as_deref());
    program::output(command.arg("get").args(words))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_kubectls_tries_is_cut() {
        let log = "E1122 20:00:00.000000 1 memcache.go:265] \"Unhandled Error\" err=\"refused\"\n";
        let said = format!("{}The connection to the server was refused", log.repeat(6));
        assert_eq!(essence(&said), "The connection to the server was refused");
        assert_eq!(essence(&log.repeat(2)), log.trim_end());
        assert_eq!(essence("Error from server (Forbidden)"), "Error from server (Forbidden)");
    }
}
