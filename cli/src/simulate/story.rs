//! The built-in story: the files under `examples/story`, carried in the program.

use std::path::Path;

use report::error::BadInput;

use crate::{manifests::InputFile, simulate::scenario::Scenario};

const SCENARIO: &str = include_str!("../../../examples/scenarios/story.yaml");
const FILES: [(&str, &str); 3] = [
    ("examples/story/daemonset.yaml", include_str!("../../../examples/story/daemonset.yaml")),
    ("examples/story/deployment.yaml", include_str!("../../../examples/story/deployment.yaml")),
    ("examples/story/nodepool.yaml", include_str!("../../../examples/story/nodepool.yaml")),
];

/// The story's manifests, each with the name of its file.
pub(crate) fn manifests() -> Vec<InputFile> {
    let file = |(name, text): &(&str, &str)| InputFile::named(name, text);
    FILES.iter().map(file).collect()
}

/// What happens in the story, and when.
pub(crate) fn scenario() -> Result<Scenario, BadInput> {
    Scenario::parse(SCENARIO, "examples/scenarios/story.yaml", Path::new("examples/scenarios"))
}
