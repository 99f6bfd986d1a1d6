//! Labels of the user's own user data.

use model::node_class::ImageFamily;

use super::class;
use crate::own_labels;

#[track_caller]
fn check(family: ImageFamily, user_data: &str, labels: &[(&str, &str)]) {
    let mut class = class(family).class;
    class.user_data = Some(user_data.to_owned());
    let given = own_labels(&class);
    let given: Vec<_> = given.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(given, labels, "{user_data}");
}

const NODE_CONFIG: &str =
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n";

#[test]
fn node_configs_and_bottlerocket_settings_give_nodes_labels() {
    let blue = [("disk", "ssd"), ("team", "blue")];
    let al2023 = |flags: &str, labels| {
        check(ImageFamily::Al2023, &format!("{NODE_CONFIG}    flags: {flags}\n"), labels);
    };
    al2023("[\"--node-labels=team=blue,disk=ssd\"]", &blue);
    al2023("[--v=2, --node-labels, 'team=blue,disk=ssd']", &blue);
    al2023("['--node-labels=\"team=blue,disk=ssd\"']", &blue);
    al2023("[--node-labels=team=blue, --node-labels=disk=ssd]", &blue);
    al2023("[--max-pods=20]", &[]);
    // A kubelet may not give its node labels of Kubernetes' own domains.
    al2023("[--node-labels=a.kubernetes.io/b=c]", &[]);
    let archive = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: \
         application/node.eks.aws\n\n{NODE_CONFIG}    flags: [--node-labels=team=blue]\n--B\nContent-Type: \
         text/x-shellscript\n\n#!/bin/bash\n--B--\n"
    );
    check(ImageFamily::Al2023, &archive, &[("team", "blue")]);
    check(ImageFamily::Al2023, "#!/bin/bash\necho --node-labels=a=b\n", &[]);
    let settings = "[settings.kubernetes.node-labels]\nteam = \"blue\"\n\"disk\" = \"ssd\"\n\
                    [settings.kubernetes.node-taints]\ndedicated = \"x:NoSchedule\"\n";
    check(ImageFamily::Bottlerocket, settings, &blue);
    check(ImageFamily::Bottlerocket, "no TOML", &[]);
}
