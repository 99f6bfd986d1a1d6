//! Files with objects of Karpenter's older versions as v1: texts in, text out.

use super::Manifest;
use crate::{
    convert::{ConversionSettings, FoundIn, convert},
    document::{Diagnostic, documents, found_in, yaml},
};

/// Objects as v1: what is not of an older version stays, but for its own comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Multi-document YAML.
    pub text: String,
    /// What could not be converted, where it stands.
    pub problems: Vec<Diagnostic>,
    /// NodePools that are left to another provider, such as EKS Auto Mode. Nothing is wrong with them.
    pub foreign: Vec<Diagnostic>,
}

/// Converts the objects of `files`, each a name and a text, together: the kubelet settings of a pool
/// find their class in any of them.
pub fn to_v1(files: &[(&str, &str)], settings: &ConversionSettings) -> Text {
    let mut problems = Vec::new();
    let parsed: Vec<_> =
        files.iter().map(|(file, text)| (*file, documents(text, file, &mut problems))).collect();
    let founds =
        parsed.iter().map(|(file, documents)| FoundIn { file, founds: found_in(documents, file) });
    let mut manifest = Manifest::default();
    let mut text = String::new();
    for converted in convert(founds, settings, &mut problems) {
        manifest.add_converted(&converted);
        let (tree, comments) = converted.into_written();
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(&yaml::to_text_with(&tree.to_json(), &comments));
    }
    problems.append(&mut manifest.problems);
    Text { text, problems, foreign: manifest.foreign }
}
