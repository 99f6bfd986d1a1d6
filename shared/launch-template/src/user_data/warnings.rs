//! What in a class's user data nodes will not do, although every launch succeeds.

use model::node_class::{ImageFamily, NodeClass};

use super::{
    SHELL, bottlerocket, custom,
    mime::{self, Keep, MimeError},
    node_config::NODE_CONFIG,
    yaml,
};

/// What joins nodes of AL2 to their cluster.
const OF_AL2: &str = "/etc/eks/bootstrap.sh";

/// What in the class's user data nodes will not do, in words that go on after `spec.userData: `. Launches
/// are not refused for it. Karpenter logs settings that it drops.
pub fn user_data_warnings(class: &NodeClass) -> Vec<String> {
    let Some(text) = custom(class) else { return Vec::new() };
    match class.image_family {
        ImageFamily::Bottlerocket => {
            let dropped = bottlerocket::dropped_settings(text).into_iter();
            let dropped = dropped.map(|setting| format!("{setting} does not reach nodes"));
            let replaced = bottlerocket::replaced_settings(text).into_iter();
            let replaced = replaced.map(|(setting, by)| {
                format!("settings.kubernetes.{setting} does not reach nodes: {by} takes its place")
            });
            dropped.chain(replaced).collect()
        }
        family @ (ImageFamily::Al2 | ImageFamily::Al2023) => of_linux(text, family),
        ImageFamily::Windows2019 | ImageFamily::Windows2022 | ImageFamily::Windows2025 => {
            of_windows(text).into_iter().collect()
        }
        ImageFamily::Custom => of_archive(text).into_iter().collect(),
    }
}

fn of_linux(text: &str, family: ImageFamily) -> Vec<String> {
    if mime::looks_like_mime(text) {
        // An archive that cannot be read refuses each launch.
        let parts = mime::parse(text, Keep::ContentType).unwrap_or_default();
        let parts = parts.iter().enumerate().filter_map(|(place, part)| {
            let content_type = part.headers.first().map_or("", |(_, value)| value);
            let why = of_part(content_type, &part.body, family)?;
            Some(format!("part {} of the MIME archive: {why}", place + 1))
        });
        return parts.collect();
    }
    if let Some(boundary) = mime::boundary_without_header(text) {
        return vec![headless(boundary)];
    }
    let is_node_config = family == ImageFamily::Al2023 && yaml::is_mapping(text);
    let content_type = if is_node_config { NODE_CONFIG } else { SHELL };
    of_part(content_type, text, family).into_iter().collect()
}

/// A content type without its parameters.
fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// Why nodes of `family` do not do what a part says.
fn of_part(content_type: &str, body: &str, family: ImageFamily) -> Option<String> {
    let is_node_config = body.contains("NodeConfig") && body.contains("node.eks.aws/");
    let reads_node_configs = family == ImageFamily::Al2023;
    let media_type = media_type(content_type);
    let fault =
        || Some(unreadable(yaml::fault(body)?)).filter(|_| is_node_config && reads_node_configs);
    if media_type == self::media_type(SHELL) {
        if body.starts_with("#!") {
            let calls = |line: &str| !line.trim_start().starts_with('#') && line.contains(OF_AL2);
            return (reads_node_configs && body.lines().any(calls)).then(|| {
                format!(
                    "it calls {OF_AL2}, which AL2023 does not have: nodeadm joins nodes there. Write a NodeConfig, or \
                     the settings of the kubelet in spec.kubelet"
                )
            });
        }
        if let Some(fault) = fault() {
            return Some(fault);
        }
        let cure = if is_node_config && !reads_node_configs {
            "NodeConfig is for AL2023. On AL2, write a shell script, and the settings of the kubelet in spec.kubelet"
        } else {
            "Write an interpreter, such as `#!/bin/bash`, into the first line"
        };
        return Some(format!(
            "nodes get it as a shell script and cannot run it, because it does not start with `#!`. {cure}"
        ));
    }
    if media_type != NODE_CONFIG {
        return None;
    }
    if !reads_node_configs {
        return Some("a NodeConfig is for AL2023: nodes of AL2 ignore it".to_owned());
    }
    // nodeadm refuses all of the user data for it: `nodeadm/internal/configprovider/mime.go` of amazon-eks-ami.
    if let Some(fault) = fault() {
        return Some(fault);
    }
    (!is_node_config).then(|| {
        "nodes get it as a NodeConfig, and it has not `apiVersion: node.eks.aws/v1alpha1` and `kind: NodeConfig`: \
         nodeadm cannot read it and stops, so that no node joins the cluster"
            .to_owned()
    })
}

/// That a NodeConfig is no YAML, with its line and the words of the parser.
fn unreadable((line, why): (usize, String)) -> String {
    format!(
        "line {line} of the NodeConfig: not valid YAML: {why}. nodeadm cannot read it and stops, so that no node joins \
         the cluster"
    )
}

/// Why PowerShell cannot run `text`, which is put between `<powershell>` and `</powershell>`.
fn of_windows(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let tags = ["<powershell>", "</powershell>", "<script>", "</script>"];
    if let Some(tag) = tags.into_iter().find(|tag| lower.contains(tag)) {
        return Some(format!(
            "it is put between `<powershell>` and `</powershell>`, and the tag `{tag}` in it breaks the script that \
             joins the node. Write PowerShell without tags"
        ));
    }
    let interpreter = text.lines().next().filter(|line| line.starts_with("#!"))?;
    Some(format!("nodes run it as PowerShell, not with `{}`", interpreter.trim_end()))
}

/// Why a node cannot read `text` as MIME, which it starts like.
fn of_archive(text: &str) -> Option<String> {
    if !mime::looks_like_mime(text) {
        return mime::boundary_without_header(text).map(headless);
    }
    match mime::parse(text, Keep::All) {
        // One part alone needs no archive.
        Ok(_) | Err(MimeError::NotMultipart) => None,
        Err(error) => Some(format!("nodes get it as it is, and cannot read it: {error}")),
    }
}

/// What is said of user data that starts with the line of its `boundary`.
fn headless(boundary: &str) -> String {
    format!(
        "it starts with the MIME boundary `--{boundary}`, and no header comes before it: nodes get the text \
         as one shell script, which cannot run. Write `Content-Type: multipart/mixed; \
         boundary=\"{boundary}\"` and an empty line before it"
    )
}
