//! Manifests of older versions and what becomes of them: `tests/convert/NAME.yaml` beside
//! `NAME.v1.yaml`. `UPDATE_EXPECT=1` writes the latter anew.

use std::{fs, path::Path};

use api::{
    convert::ConversionSettings,
    files::{self, older::to_v1},
    objects::Object,
};

#[test]
fn older_versions_become_v1_that_is_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/convert");
    let mut seen = 0;
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !path.to_string_lossy().ends_with(".v1.yaml"))
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a manifest");
        let converted = to_v1(&[(name.as_str(), text.as_str())], &ConversionSettings::default());
        assert_eq!(converted.problems, [], "{name}:\n{}", converted.text);
        expect_test::expect_file![path.with_extension("v1.yaml")].assert_eq(&converted.text);
        // Nothing is left to do, and reading the old and the new is the same.
        let again =
            to_v1(&[(name.as_str(), converted.text.as_str())], &ConversionSettings::default());
        let without_comments = |text: &str| {
            let is_comment = |line: &&str| !line.trim_start().starts_with("# ");
            text.lines().filter(is_comment).map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        let lines = without_comments(&converted.text);
        let shell: Vec<_> = without_comments(&again.text);
        assert_eq!(lines, shell, "{name}");
        assert_eq!(specs(&text), specs(&converted.text), "{name}");
        seen += 1;
    }
    assert!(seen >= 6, "there are {seen} manifests");
}

/// What is read of `text`, without what a status says: that is not converted.
fn specs(text: &str) -> Vec<Object> {
    let mut objects = files::read(text, "x").objects;
    for object in &mut objects {
        if let Object::NodeClass(class) = object {
            class.status = Ok(model::node_class::ClassStatus::default());
        }
    }
    objects
}

#[track_caller]
fn check_problem(text: &str, wanted: &str) {
    let converted = to_v1(&[("x.yaml", text)], &ConversionSettings::default());
    let problems: Vec<_> = converted.problems.iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.contains(wanted)), "{problems:#?}");
}

const TEMPLATE: &str = "apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: a}
spec: {subnetSelector: {a: b}, securityGroupSelector: {a: b}}
";

#[test]
fn what_was_left_to_settings_is_asked_for() {
    check_problem(TEMPLATE, "AWSNodeTemplate a: spec.instanceProfile: was left to the setting");
    let settings = ConversionSettings { role: Some("nodes".to_owned()) };
    assert_eq!(to_v1(&[("x.yaml", TEMPLATE)], &settings).problems, []);
}

#[test]
fn ubuntu_without_images_is_asked_about() {
    let text = "apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: a}
spec: {amiFamily: Ubuntu, role: r, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}
";
    check_problem(text, "spec.amiSelectorTerms: is required: v1 does not look for Ubuntu's images");
}

#[test]
fn a_kubelet_without_its_class_is_not_lost() {
    let text = "apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: a}
spec: {template: {spec: {kubelet: {maxPods: 5}, nodeClassRef: {name: elsewhere}, requirements: []}}}
";
    check_problem(text, "x.yaml:4: NodePool a: kubelet: belongs in the EC2NodeClass");
}

#[test]
fn nothing_is_made_of_an_old_object_without_a_name_and_one_problem_says_so() {
    let text = "apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
spec: {provider: {launchTemplate: MyLaunchTemplate}}
";
    let converted = to_v1(&[("x.yaml", text)], &ConversionSettings::default());
    let problems: Vec<_> = converted.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["x.yaml:1: Provisioner (without a name): metadata.name: is required; write `metadata: \
          {name: default}`; nothing is converted without a name"]
    );
    assert_eq!(converted.text, "");
}

#[test]
fn fields_that_no_version_has_are_refused_where_they_stand() {
    let text = "apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: a}
spec:
  providerRef: {name: a}
  wieght: 5
";
    let manifest = files::read(text, "x.yaml");
    let problems: Vec<_> = manifest.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["x.yaml:6: Provisioner a: spec.wieght: unknown field; did you mean `weight`?"]
    );
}
