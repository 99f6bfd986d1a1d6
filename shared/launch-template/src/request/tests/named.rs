//! Launches from a launch template of the user's own.

use model::node_class::TemplateSource;

use super::*;

#[test]
fn a_launch_template_of_the_users_own_is_named_and_none_is_made() {
    let mut class = al2023();
    let name: LaunchTemplateName = "mine".parse().unwrap();
    class.class.launch_template = TemplateSource::Named(name.clone());
    let version = TemplateVersion::Number(3);
    class.launch_template = ResolvedTemplate::Named { name: name.clone(), version };
    class.security_groups.clear();
    let types = [LARGE, XLARGE];
    let launch = launch(&claim(&[ON_DEMAND], &types), &class, &types);
    assert_eq!(launch.templates, Vec::new());
    let [fleet_template] = launch.request.templates.as_slice() else {
        panic!("{:?}", launch.request)
    };
    assert_eq!((&fleet_template.template, fleet_template.version), (&name, version));
    // Types with different numbers of pods share it, in order.
    let types: BTreeSet<_> =
        fleet_template.overrides.iter().map(|choice| &choice.instance_type).collect();
    assert!(
        types.len() > 1 && fleet_template.overrides.is_sorted(),
        "{:?}",
        fleet_template.overrides
    );
}
