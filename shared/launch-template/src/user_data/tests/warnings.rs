//! User data that launches take, and that nodes do not do.

use super::*;
use crate::testing::class;

#[test]
fn user_data_that_nodes_cannot_read_is_warned_of() {
    use ImageFamily::{Al2, Al2023, Custom, Windows2022};
    let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n";
    let archive = |content_type: &str, body: &str| {
        format!(
            "Content-Type: multipart/mixed; boundary=\"X\"\n\n--X\nContent-Type: {content_type}\n\n{body}\n--X--\n"
        )
    };
    let script = "text/x-shellscript; charset=\"us-ascii\"";
    let other_boundary = archive(script, "#!/bin/sh").replace("boundary=\"X\"", "boundary=\"Y\"");
    let broken = format!("{config}spec:\n kubelet:\n   config:\n  maxPods: 5\n");
    let broken = broken.as_str();
    let rows: &[(ImageFamily, &str, Option<&str>)] = &[
        (Al2023, broken, Some("line 6 of the NodeConfig: not valid YAML: ")),
        (
            Al2023,
            &archive("application/node.eks.aws", broken),
            Some("part 1 of the MIME archive: line 6 of the NodeConfig: not valid YAML: "),
        ),
        (Al2, broken, Some("NodeConfig is for AL2023")),
        (Al2023, "#!/bin/bash\n/etc/eks/bootstrap.sh mine\n", Some("/etc/eks/bootstrap.sh")),
        (Al2023, "#!/bin/bash\n# once: /etc/eks/bootstrap.sh\necho hi\n", None),
        (Al2, "#!/bin/bash\n/etc/eks/bootstrap.sh mine\n", None),
        // The archive is written with bare line ends, and cloud-init turns those of scripts into bare ones.
        (Al2023, "#!/bin/bash\r\necho hi\r\n", None),
        (Custom, "#!/bin/bash\r\necho hi\r\n", None),
        (Al2023, "this is neither yaml: [nor: shell\n", Some("does not start with `#!`")),
        (Al2023, "echo hi\n", Some("does not start with `#!`")),
        (Al2, "echo hi\n", Some("does not start with `#!`")),
        (Al2, "#!/bin/sh\necho hi\n", None),
        (Al2, config, Some("NodeConfig is for AL2023")),
        (Al2023, config, None),
        (Al2023, "#cloud-config\nruncmd: [echo]\n", Some("so that no node joins the cluster")),
        (Al2023, "spec: {kubelet: {}}\n", Some("so that no node joins the cluster")),
        (Al2023, "# nothing yet\n", Some("so that no node joins the cluster")),
        (Al2023, &archive(script, "#!/bin/sh"), None),
        (Al2023, &archive(script, "echo"), Some("part 1 of the MIME archive")),
        (Al2023, &archive("application/node.eks.aws", config), None),
        (Al2, &archive("application/node.eks.aws", config), Some("nodes of AL2 ignore it")),
        (Al2, &archive("text/cloud-config", "runcmd: [echo]"), None),
        (Windows2022, "<powershell>\nWrite-Host hi\n", Some("`<powershell>`")),
        (Windows2022, "#!/bin/bash\necho hi\n", Some("not with `#!/bin/bash`")),
        (Windows2022, "Write-Host hi\n", None),
        (Custom, &other_boundary, Some("no line `--Y--` that ends it")),
        (Custom, &archive(script, "#!/bin/sh"), None),
        (Custom, "Content-Type: text/cloud-config\n\nruncmd: [echo]\n", None),
        (Custom, "anything\n", None),
    ];
    for (family, text, expected) in rows {
        let mut class = class(*family).class;
        class.user_data = Some((*text).to_owned());
        let said = user_data_warnings(&class);
        match expected {
            Some(expected) => {
                assert!(said.len() == 1 && said[0].contains(expected), "{text}: {said:?}");
            }
            None => assert_eq!(said, Vec::<String>::new(), "{text}"),
        }
    }
}
