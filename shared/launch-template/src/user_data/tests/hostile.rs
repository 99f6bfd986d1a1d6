//! Texts that mean something to a shell, to PowerShell, MIME, YAML or TOML. As labels and taints they
//! are refused for every image family; everywhere else they arrive as they are.

use std::process::Command;

use super::*;

const HOSTILE: [&str; 12] = [
    "x'; reboot; '",
    "x\" --anonymous-auth=true --node-labels=\"y",
    "a b",
    "a,other=label",
    "$(reboot)",
    "`reboot`",
    "a\nb",
    "x\n--//\nContent-Type: text/x-shellscript\n\nreboot",
    "</powershell>",
    "x\u{2019}; Restart-Computer; \u{2019}",
    "-x",
    "x\n--\r//\nreboot",
];

fn write_named(
    family: ImageFamily,
    label: (&str, &str),
    taints: Vec<Taint>,
) -> Result<String, BatchRefusal> {
    write_with(&class(family), &settings(), &[label], taints)
}

#[track_caller]
fn check_refused(outcome: Result<String, BatchRefusal>, what: &str) {
    let refusal = outcome.unwrap_err().to_string();
    assert!(refusal.contains(what), "{refusal}");
}

#[test]
fn every_family_takes_names_only_as_labels_and_taints() {
    for family in
        ImageFamily::ALL.into_iter().filter(|image_family| *image_family != ImageFamily::Custom)
    {
        for text in HOSTILE {
            let written = write_named(family, ("team", text), Vec::new());
            check_refused(written, &format!("the value {text:?} of the label \"team\""));
            let written = write_named(family, (text, "x"), Vec::new());
            check_refused(written, &format!("the key {text:?} of a label"));
            let taints = vec![taint("team", text, TaintEffect::NoSchedule)];
            let written = write_named(family, ("team", "x"), taints);
            check_refused(written, &format!("the value {text:?} of the taint \"team\""));
            let taints = vec![taint(text, "", TaintEffect::NoSchedule)];
            let written = write_named(family, ("team", "x"), taints);
            check_refused(written, &format!("the key {text:?} of a taint"));
        }
        assert!(write_named(family, ("example.com/team_a", "A-1_b.2"), Vec::new()).is_ok());
    }
}

#[test]
fn user_data_of_a_custom_image_has_no_labels() {
    for text in HOSTILE {
        assert_eq!(write_named(ImageFamily::Custom, (text, text), Vec::new()).unwrap(), "");
    }
}

/// A class and a cluster with `text` wherever any is taken.
fn all_of(family: ImageFamily, text: &str) -> (ResolvedNodeClass, ClusterSettings) {
    let class = with(family, |class| class.kubelet.cluster_dns = vec![text.to_owned()]);
    let cluster = ClusterSettings {
        endpoint: text.to_owned(),
        ca_bundle: text.to_owned(),
        service_cidr: Some(text.to_owned()),
        ..settings()
    };
    (class, cluster)
}

/// The arguments that the program `command` gets from a shell that reads `script`.
fn arguments(script: &str, command: &str) -> Vec<String> {
    let (_, call) = script.split_once(command).unwrap();
    let (call, _) = call.rsplit_once("\n--//--").unwrap();
    let script = format!("printf '%s\\0'{call}");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{script}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(ToOwned::to_owned).collect()
}

#[test]
fn a_shell_gets_every_text_as_one_word() {
    for text in HOSTILE.into_iter().filter(|text| !text.contains("\n--")) {
        let (class, cluster) = all_of(ImageFamily::Al2, text);
        let words = arguments(&write(&class, &cluster).unwrap(), "/etc/eks/bootstrap.sh");
        assert_eq!(words[0], "golden");
        for option in ["--apiserver-endpoint", "--b64-cluster-ca", "--dns-cluster-ip"] {
            let place = words.iter().position(|word| word == option).unwrap();
            assert_eq!(words[place + 1], text, "{option}");
        }
        assert_eq!(words.len(), 11, "{words:?}");
    }
}

#[test]
fn what_would_end_a_part_of_an_archive_is_refused() {
    for text in HOSTILE.into_iter().filter(|text| text.contains("\n--")) {
        let (class, cluster) = all_of(ImageFamily::Al2, text);
        check_refused(write(&class, &cluster), "part 1 of the MIME archive has a line `--//`");
    }
}

#[test]
fn bottlerocket_gets_every_text_as_one_string() {
    for text in HOSTILE {
        let (class, cluster) = all_of(ImageFamily::Bottlerocket, text);
        let settings: toml_edit::DocumentMut = write(&class, &cluster).unwrap().parse().unwrap();
        let settings = &settings["settings"]["kubernetes"];
        for key in ["api-server", "cluster-certificate", "cluster-dns-ip"] {
            assert_eq!(settings[key].as_str(), Some(text), "{key}");
        }
    }
}

#[test]
fn node_config_gets_every_text_as_one_string() {
    for text in HOSTILE {
        let (class, cluster) = all_of(ImageFamily::Al2023, text);
        let written = write(&class, &cluster).unwrap();
        let (_, config) = written.split_once("# Karpenter Generated NodeConfig\n").unwrap();
        let (config, _) = config.split_once("\n--//--").unwrap();
        let config: serde_json::Value = serde_saphyr::from_str(config).unwrap();
        for place in ["apiServerEndpoint", "certificateAuthority", "cidr"] {
            assert_eq!(config["spec"]["cluster"][place], text, "{place}");
        }
        assert_eq!(config["spec"]["kubelet"]["config"]["clusterDNS"][0], text);
    }
}

#[test]
fn powershell_gets_every_text_as_one_word() {
    let windows = || ImageFamily::ALL.into_iter().filter(|family| family.is_windows());
    for family in windows() {
        for text in HOSTILE.into_iter().filter(|text| !text.contains('>')) {
            let (class, cluster) = all_of(family, text);
            let mut written = write(&class, &cluster).unwrap();
            for word in [text, text, text].map(quote::powershell) {
                assert!(written.contains(&word), "{word} in {written}");
                written = written.replacen(&word, "", 1);
            }
        }
    }
    // A reader that looks for tags ignores quotes.
    for family in windows() {
        for text in ["</powershell>", "<script>x", "<persist>true</persist>"] {
            let (class, cluster) = all_of(family, text);
            check_refused(
                write(&class, &cluster),
                &format!(
                    "no Windows node can be told {text:?}: a `>` would end a tag of its user data"
                ),
            );
        }
    }
}
