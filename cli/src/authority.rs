//! The certificate authority by which nodes trust the cluster: a part of each EC2NodeClass's drift hash that no manifest
//! has.

use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use report::error::BadInput;
use serde::Deserialize;

use crate::{
    cluster_facts,
    hashes::{Authority, OfContext},
    manifests,
};

/// Options that give it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AuthorityArgs {
    /// The cluster's certificate authority in base64, a part of EC2NodeClass hashes.
    #[arg(long, value_name = "BASE64", conflicts_with = "cluster_facts")]
    pub ca_bundle: Option<String>,
    /// Read the certificate authority from cluster facts (`caBundle`); see `render --help`.
    #[arg(long, value_name = "FILE")]
    pub cluster_facts: Option<PathBuf>,
}

/// How to get it, for texts that say that it is missing. `foreign` is the context of a kubeconfig whose cluster the input
/// seems not to be of.
pub(crate) fn cure(foreign: Option<&str>) -> String {
    let option = "--ca-bundle gives the cluster's certificate authority \
        (aws eks describe-cluster --name CLUSTER --query cluster.certificateAuthority.data --output text)";
    match foreign {
        None => option.to_owned(),
        Some(context) => format!(
            "the kubeconfig's context {context} can be another cluster, because no hash in this input is made with \
             that cluster's certificate authority; {option}"
        ),
    }
}

/// Says that hashes were made with the certificate authority of `context`.
pub(crate) fn of_context(context: &str) -> String {
    format!(
        "Hashes of EC2NodeClasses are those of the cluster of the kubeconfig's context {context}"
    )
}

impl AuthorityArgs {
    /// The certificate authority that the options give; else that of the kubeconfig's current context.
    pub(crate) fn read(&self) -> Result<Authority, BadInput> {
        let of_context = || of_kubeconfig(None, None).map(Authority::OfContext);
        let given = self.given()?.map(Authority::Given);
        Ok(given.or_else(of_context).unwrap_or(Authority::Unknown))
    }

    /// The certificate authority that the options give, in base64; `None` without an option.
    pub(crate) fn given(&self) -> Result<Option<String>, BadInput> {
        if let Some(bundle) = &self.ca_bundle {
            check_base64(bundle)?;
            return Ok(Some(bundle.clone()));
        }
        let Some(path) = &self.cluster_facts else { return Ok(None) };
        let facts = cluster_facts::cluster_facts(&manifests::text(path)?)
            .map_err(|error| BadInput::one(format!("{}: {error}", path.display())))?;
        Ok(Some(facts.settings.ca_bundle).filter(|bundle| !bundle.is_empty()))
    }
}

/// Refuses what nodes could not be given: a hash of it would be one that no cluster has.
fn check_base64(bundle: &str) -> Result<(), BadInput> {
    let rule = "--ca-bundle: it is not base64, as certificate-authority-data of a kubeconfig is";
    match STANDARD.decode(bundle) {
        Ok(bytes) if !bytes.is_empty() => Ok(()),
        _ => Err(BadInput::one(rule)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    current_context: Option<String>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    certificate_authority_data: Option<String>,
    certificate_authority: Option<PathBuf>,
}

/// The certificate authority of `context`, or of the current one, in the kubeconfig `file`, or in kubectl's own
/// (`KUBECONFIG`, `~/.kube/config`). `None` without a kubeconfig, and of one that
/// does not have it.
pub(crate) fn of_kubeconfig(file: Option<&Path>, context: Option<&str>) -> Option<OfContext> {
    let (path, kubeconfig) = read_kubeconfig(file)?;
    let context = context.map(str::to_owned).or(kubeconfig.current_context)?;
    let named = kubeconfig.contexts.into_iter().find(|named| named.name == context)?;
    let cluster = kubeconfig.clusters.into_iter().find(|it| it.name == named.context.cluster)?;
    let Cluster { certificate_authority_data: data, certificate_authority: file } = cluster.cluster;
    let of_file = || {
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        std::fs::read(folder.join(file?)).ok().map(|bytes| STANDARD.encode(bytes))
    };
    Some(OfContext { context, bundle: data.or_else(of_file)? })
}

/// The name of `context`, or of the current one, in the kubeconfig `file`, or in kubectl's own; `None` if it has none.
pub(crate) fn context_of(file: Option<&Path>, context: Option<&str>) -> Option<String> {
    if let Some(context) = context {
        return Some(context.to_owned());
    }
    read_kubeconfig(file)?.1.current_context
}

/// The kubeconfig `file`, or kubectl's own, with its path; `None` if there is none that can be read.
fn read_kubeconfig(file: Option<&Path>) -> Option<(PathBuf, Kubeconfig)> {
    let path = file.map_or_else(kubeconfig, |file| Some(file.to_owned()))?;
    let text = std::fs::read_to_string(&path).ok()?;
    Some((path, serde_saphyr::from_str(&text).ok()?))
}

/// kubectl's own kubeconfig: the first file of `KUBECONFIG` that is there, or `~/.kube/config`.
#[expect(clippy::disallowed_methods, reason = "kubectl and its users name their cluster so")]
fn kubeconfig() -> Option<PathBuf> {
    if let Some(paths) = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
        return std::env::split_paths(&paths).find(|path| path.exists());
    }
    Some(PathBuf::from(std::env::var_os("HOME")?).join(".kube/config"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = "
current-context: a
contexts:
- {name: a, context: {cluster: one, user: me}}
- {name: b, context: {cluster: two, user: me, namespace: team}}
- {name: c, context: {cluster: three, user: me}}
clusters:
- {name: one, cluster: {server: 'https://1', certificate-authority-data: Z29sZGVu}}
- {name: two, cluster: {server: 'https://2', certificate-authority: two.crt}}
- {name: three, cluster: {server: 'https://3', insecure-skip-tls-verify: true}}
";

    #[test]
    fn a_kubeconfig_has_the_certificate_authority_of_each_context() {
        let folder = std::env::temp_dir().join("journeyman-authority");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config");
        std::fs::write(&file, KUBECONFIG).unwrap();
        std::fs::write(folder.join("two.crt"), "golden").unwrap();
        let bundle = |context| of_kubeconfig(Some(&file), context).map(|read| read.bundle);
        assert_eq!(bundle(None).as_deref(), Some("Z29sZGVu"));
        assert_eq!(bundle(Some("b")).as_deref(), Some("Z29sZGVu"));
        assert_eq!(bundle(Some("c")), None);
        assert_eq!(bundle(Some("d")), None);
        assert_eq!(of_kubeconfig(Some(&folder.join("none")), None), None);
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for (text, is_taken) in [("Z29sZGVu", true), ("Z29sZGV", false), ("", false), ("*", false)]
        {
            assert_eq!(check_base64(text).is_ok(), is_taken, "{text}");
        }
    }
}
