//! Files with objects of Karpenter's older versions as files of v1: text in, text out.

use crate::{
    document::{Diagnostic, documents, found_in, older::convert, yaml},
    files,
};

pub use crate::document::older::ConversionSettings;

/// A file as v1: what is not of an older version stays, but for its own comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Multi-document YAML.
    pub text: String,
    /// What could not be converted.
    pub problems: Vec<Diagnostic>,
}

/// Converts the objects of `text`, which came from `file`.
pub fn to_v1(text: &str, file: &str, settings: &ConversionSettings) -> Text {
    let mut problems = Vec::new();
    let documents = documents(text, file, &mut problems);
    let founds = found_in(&documents, file);
    let mut text = String::new();
    for converted in convert(founds, file, settings, &mut problems) {
        let (tree, comments) = converted.into_written();
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(&yaml::to_text_with(&tree.to_json(), &comments));
    }
    problems.extend(files::read(&text, file).problems.into_iter().map(|problem| {
        // Lines of what was written just now say nothing to anybody.
        Diagnostic { line: None, ..problem }
    }));
    Text { text, problems }
}
