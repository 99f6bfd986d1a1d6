//! Families that join through a script on the image: AL2 with a shell, Windows with PowerShell.
//!
//! <https://github.com/awslabs/amazon-eks-ami/blob/main/templates/al2/runtime/bootstrap.sh>
//! Karpenter: `pkg/providers/amifamily/bootstrap/{eksbootstrap,windows}.go` of the AWS provider.

use super::{
    Node, SHELL, kubelet_arguments,
    mime::{self, Keep, MimeError, Part},
    quote,
};

/// The user data of an AL2 node: the user's parts as they are, then the script that joins.
pub(super) fn shell(node: &Node<'_>) -> Result<String, String> {
    let mut parts = match node.custom() {
        Some(text) => custom_parts(text).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    parts.push(Part::new(SHELL, bootstrap_script(node)));
    mime::write(&parts).map_err(|error| error.to_string())
}

/// The user's text: MIME, or else a shell script.
fn custom_parts(text: &str) -> Result<Vec<Part>, MimeError> {
    if mime::looks_like_mime(text) {
        return mime::parse(text, Keep::All);
    }
    Ok(vec![Part::new(SHELL, text)])
}

fn bootstrap_script(node: &Node<'_>) -> String {
    let settings = node.settings;
    let authority = match settings.ca_bundle.as_str() {
        "" => String::new(),
        bundle => format!(" --b64-cluster-ca {}", quote::shell(bundle)),
    };
    let name = quote::shell(settings.name.as_str());
    let endpoint = quote::shell(&settings.endpoint);
    let mut command =
        format!("/etc/eks/bootstrap.sh {name} --apiserver-endpoint {endpoint}{authority}");
    let dns = node.cluster_dns().first().copied();
    let is_ipv6 = dns.is_some_and(|address| address.contains(':'));
    let options = [
        is_ipv6.then(|| "--ip-family ipv6".to_owned()),
        dns.map(|address| format!("--dns-cluster-ip {}", quote::shell(address))),
        // The number of pods is always worked out, and given below.
        Some("--use-max-pods false".to_owned()),
        Some(format!("--kubelet-extra-args {}", quote::shell(&kubelet_arguments::arguments(node)))),
        node.class.class.is_raid0.then(|| "--local-disks raid0".to_owned()),
    ];
    for option in options.into_iter().flatten() {
        command.push_str(" \\\n");
        command.push_str(&option);
    }
    format!(
        "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s \
         2>/dev/console) 2>&1\n{command}"
    )
}

/// The user data of a Windows node: the user's text, which must bring no tags of its own, and then
/// the command that joins. A text of ours that a reader of tags could take for one is returned as the error.
pub(super) fn powershell(node: &Node<'_>) -> Result<String, String> {
    let settings = node.settings;
    let own = node.custom().map(|text| format!("{text}\n")).unwrap_or_default();
    let authority = match settings.ca_bundle.as_str() {
        "" => String::new(),
        bundle => format!(" -Base64ClusterCA {}", word(bundle)?),
    };
    let dns = node.cluster_dns();
    let dns = match dns.first() {
        Some(address) => format!(" -DNSClusterIP {}", word(address)?),
        None => String::new(),
    };
    let name = word(settings.name.as_str())?;
    let endpoint = word(&settings.endpoint)?;
    let arguments = word(&kubelet_arguments::arguments(node))?;
    let command = format!(
        "& $EKSBootstrapScriptFile -EKSClusterName {name} -APIServerEndpoint {endpoint}{authority} \
         -KubeletExtraArgs {arguments}{dns}"
    );
    let script = "[string]$EKSBootstrapScriptFile = \
                  \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"";
    Ok(format!("<powershell>\n{own}{script}\n{command}\n</powershell>"))
}

/// `text` as a word. EC2's agent finds the tags `<powershell>`, `<script>` and `<persist>` before PowerShell reads
/// any quote, and each has a `>`, which no argument needs.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html>
fn word(text: &str) -> Result<String, String> {
    if text.contains('>') { Err(text.to_owned()) } else { Ok(quote::powershell(text)) }
}
