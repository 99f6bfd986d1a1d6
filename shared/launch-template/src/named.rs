//! Launch templates of the user's own: whether nodes can be launched from one.
//!
//! Karpenter of v1alpha5 passed them to CreateFleet as they are, and chose instance types, subnets
//! and tags: <https://karpenter.sh/v0.27/concepts/launch-templates/>.

use model::{
    ImageId, LaunchTemplateName,
    launch::TemplateVersion,
    node_class::{DescribedTemplate, ResolvedTemplate, TemplateProblem},
};

/// What nodes of a class that names the launch template `name` are launched from, and its image.
/// `found` is what EC2 says about it.
pub fn named_template(
    name: &LaunchTemplateName,
    described_template: Option<DescribedTemplate>,
) -> Result<(ResolvedTemplate, ImageId), TemplateProblem> {
    let Some(DescribedTemplate { name, version, image, sets }) = described_template else {
        return Err(TemplateProblem::NotFound(name.clone()));
    };
    if !sets.is_empty() {
        return Err(TemplateProblem::Sets { name, version, sets });
    }
    let Some(image) = image else {
        return Err(TemplateProblem::NoImage { name, version });
    };
    let version = TemplateVersion::Number(version);
    Ok((ResolvedTemplate::Named { name, version }, image))
}

#[cfg(test)]
mod tests {
    use model::{ConditionReason, node_class::TemplateSetting};

    use super::*;

    #[track_caller]
    fn check(
        image: Option<&str>,
        sets: &[TemplateSetting],
        expected: Result<TemplateVersion, (&str, &str)>,
    ) {
        let name: LaunchTemplateName = "mine".parse().unwrap();
        let described_template = DescribedTemplate {
            name: name.clone(),
            version: 3,
            image: image.map(|id| id.parse().unwrap()),
            sets: sets.iter().copied().collect(),
        };
        let seen = match named_template(&name, Some(described_template)) {
            Ok((ResolvedTemplate::Named { version, .. }, _)) => Ok(version),
            Ok((ResolvedTemplate::Made, _)) => panic!("it is the user's own"),
            Err(problem) => Err((problem.reason().to_string(), problem.to_string())),
        };
        let owned = |(reason, text): (&str, &str)| (reason.to_owned(), text.to_owned());
        assert_eq!(seen, expected.map_err(owned));
    }

    #[test]
    fn a_template_that_leaves_type_and_network_open_is_taken() {
        check(Some("ami-1"), &[], Ok(TemplateVersion::Number(3)));
    }

    #[test]
    fn what_a_launch_chooses_must_not_be_set() {
        let invalid = "LaunchTemplateInvalid";
        let text = "launch template `mine`, version 3: sets InstanceType, NetworkInterfaces, which \
                    a launch chooses: take it out";
        let sets = [TemplateSetting::NetworkInterfaces, TemplateSetting::InstanceType];
        check(Some("ami-1"), &sets, Err((invalid, text)));
        let text = "launch template `mine`, version 3: ImageId is missing";
        check(None, &[], Err((invalid, text)));
    }

    #[test]
    fn a_template_that_is_not_there_is_named() {
        let name: LaunchTemplateName = "mine".parse().unwrap();
        let problem = named_template(&name, None).unwrap_err();
        assert_eq!(problem.reason(), ConditionReason::LaunchTemplateNotFound);
        assert_eq!(problem.to_string(), "launch template `mine` is not there");
    }
}
