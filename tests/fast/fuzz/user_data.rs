//! Texts that mean something to a shell, systemd, PowerShell, MIME, YAML or TOML, put wherever a user can write
//! one: into a NodePool, an EC2NodeClass and what is known of the cluster. Each is refused, or what an
//! instance gets is read there as it was meant. `sh`, a TOML and a YAML parser are the real
//! ones. PowerShell cannot be had here, so its quoting is read by its own rules below.
//!
//! What pods ask for reaches an instance as labels of a claim only; that those are names is tested where claims
//! are made, in `planner`, and judged by `plan-check`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::read::GzDecoder;
use journeyman::render::{self, RenderArgs};
use report::{format::Format, screen::Screen};
use serde_json::{Value, json};
use tests::{files, repository};

const HOSTILE: [&str; 14] = [
    "x'; reboot; '",
    "x\" --anonymous-auth=true --node-labels=\"y",
    "a b",
    "a,other=label",
    "$(reboot)`reboot`",
    "a\nb: c\n- d",
    "x\n--//\nContent-Type: text/x-shellscript\n\nreboot",
    "x\n--\r//  \nreboot",
    "</powershell>",
    "<PowerShell>x",
    "x\u{2019}; Restart-Computer; \u{2019}",
    "x\"\n[settings.host-containers.admin]\nenabled=true\n\"\"\"",
    "a\u{2028}--- \u{85}b\u{feff}%{}",
    "*alias",
];

/// Maps whose keys a user writes.
const NAMED_BY_USERS: [&str; 8] = [
    "labels",
    "tags",
    "systemReserved",
    "kubeReserved",
    "evictionHard",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "featureGates",
];

/// An image family: its alias, and a text that a user might add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Family(&'static str, &'static str);

const AL2: Family = Family("al2@latest", "echo mine");
const AL2023: Family = Family("al2023@latest", "#!/bin/bash\necho mine");
const BOTTLEROCKET: Family =
    Family("bottlerocket@latest", "[settings.kernel]\nlockdown = \"none\"\n");
const WINDOWS: Family = Family("windows2022@latest", "Write-Host mine");

/// A pool, its class and its cluster, with something in every place.
fn world(family: Family) -> Value {
    let Family(alias, user_data) = family;
    let mut kubelet = json!({
        "clusterDNS": ["10.100.0.20"], "maxPods": 42,
        "systemReserved": {"cpu": "100m"}, "kubeReserved": {"memory": "300Mi"},
        "evictionHard": {"memory.available": "5%"}, "evictionSoft": {"nodefs.available": "10%"},
        "evictionSoftGracePeriod": {"nodefs.available": "1m"}, "cpuCFSQuota": true,
    });
    if family == AL2023 {
        kubelet["featureGates"] = json!({"GracefulNodeShutdown": true});
        kubelet["clusterDomain"] = json!("cluster.local");
    }
    let os = if family == WINDOWS { "windows" } else { "linux" };
    let taint = |key: &str| json!({"key": key, "value": "web", "effect": "NoSchedule"});
    json!({
        "pool": {
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
            "spec": {"template": {
                "metadata": {"labels": {"team": "payments"}, "annotations": {"example.com/note": "x"}},
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [
                        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
                        {"key": "kubernetes.io/os", "operator": "In", "values": [os]},
                        {"key": "example.com/rack", "operator": "In", "values": ["r1"]},
                    ],
                    "taints": [taint("dedicated")], "startupTaints": [taint("starting")],
                },
            }},
        },
        "class": {
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
            "metadata": {"name": "default", "generation": 1},
            "status": {
                "subnets": [{"id": "subnet-0a", "zone": "us-west-2a", "zoneID": "usw2-az1"}],
                "securityGroups": [{"id": "sg-0a", "name": "nodes"}],
                "amis": [{"id": "ami-0a", "name": "mine", "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                ]}],
                "instanceProfile": "golden_1",
                "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}],
            },
            "spec": {
                "role": "nodes", "amiSelectorTerms": [{"alias": alias}],
                "subnetSelectorTerms": [{"tags": {"kind": "private"}}],
                "securityGroupSelectorTerms": [{"tags": {"kind": "private"}}],
                "tags": {"cost": "center"}, "userData": user_data, "kubelet": kubelet,
            },
        },
        "facts": {
            "name": "golden", "endpoint": "https://golden.example", "caBundle": "Z29sZGVu",
            "serviceCIDR": "10.100.0.0/16", "dnsIP": "10.100.0.10", "kubernetesVersion": "1.32",
            "region": "us-west-2",
        },
    })
}

/// The places of texts in `value`, and of keys that a user writes: a pointer, and whether the key is meant.
fn places(value: &Value, pointer: &str, found: &mut Vec<(String, bool)>) {
    match value {
        Value::String(_) => found.push((pointer.to_owned(), false)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{pointer}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                let inner = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                if NAMED_BY_USERS.iter().any(|name| pointer.ends_with(&format!("/{name}"))) {
                    found.push((inner.clone(), true));
                }
                places(item, &inner, found);
            }
        }
        _ => {}
    }
}

/// `world` with `text` in one place.
fn with(world: &Value, (pointer, is_key): &(String, bool), text: &str) -> Value {
    let mut world = world.clone();
    if *is_key {
        let (map, key) = pointer.rsplit_once('/').expect("a key in a map");
        let map = world.pointer_mut(map).and_then(Value::as_object_mut).expect("a map");
        let value = map.remove(&key.replace("~1", "/").replace("~0", "~")).expect("a key");
        map.insert(text.to_owned(), value);
    } else {
        *world.pointer_mut(pointer).expect("a place") = json!(text);
    }
    world
}

/// EC2's answers about one instance type, in a folder of their own: what is read in no time.
fn answers(folder: &Path) {
    let is_kept = |name: &str| name == "m5.large";
    for path in files(&repository().join("tests/proof/ec2"), &[".json.gz"]) {
        let packed = fs::read(&path).expect("an answer");
        let mut answer: Value =
            serde_json::from_reader(GzDecoder::new(packed.as_slice())).expect("JSON");
        for field in answer.as_object_mut().expect("an object").values_mut() {
            match field {
                Value::Array(items) => {
                    items.retain(|item| item["InstanceType"].as_str().is_some_and(is_kept));
                }
                Value::Object(entries) => entries.retain(|name, _| is_kept(name)),
                _ => {}
            }
        }
        let name = path.file_stem().expect("a name");
        fs::write(folder.join(name), answer.to_string()).expect("a file of the test");
    }
}

/// What instances would be told in `world`.
fn told(folder: &Path, world: &Value) -> Result<Vec<String>, String> {
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).expect("a file of the test");
        folder.join(name)
    };
    let manifests: Vec<PathBuf> = ["pool", "class"]
        .map(|name| write(&format!("{name}.json"), world[name].to_string()))
        .into();
    let args = RenderArgs {
        manifests,
        cluster_facts: Some(write("facts.json", world["facts"].to_string())),
        from: Some(folder.to_owned()),
        output: Format::Json,
        ..RenderArgs::default()
    };
    let mut out = Vec::new();
    render::run(&args, Screen::default(), &mut out).map_err(|error| error.to_string())?;
    Ok(user_data_of(&out))
}

/// The user data in what was printed.
fn user_data_of(printed: &[u8]) -> Vec<String> {
    let launch: Value = serde_json::from_slice(printed).expect("JSON");
    let templates = launch["launchTemplates"].as_array().expect("launch templates");
    assert!(!templates.is_empty(), "nothing would be launched");
    let texts = templates.iter().map(|template| template["userData"].as_str().expect("a text"));
    texts.map(ToOwned::to_owned).collect()
}

/// The bodies of a MIME archive, as its reader on a node parts them.
fn parts(archive: &str) -> Vec<String> {
    let mut parts: Vec<Vec<&str>> = Vec::new();
    for line in archive.split(['\n', '\r']) {
        if matches!(line.trim_end(), "--//" | "--//--") {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(line);
        }
    }
    assert_eq!(parts.pop().map(|rest| rest.concat()), Some(String::new()), "text after the end");
    let body = |lines: Vec<&str>| {
        let text = lines.join("\n");
        text.split_once("\n\n").expect("headers and a body").1.to_owned()
    };
    parts.into_iter().map(body).collect()
}

/// The flags of a kubelet, each once, in words that neither a shell nor systemd reads otherwise.
fn kubelet_flags(text: &str) -> Result<BTreeSet<String>, String> {
    let mut flags = BTreeSet::new();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:<%".contains(c);
    for word in text.split(' ') {
        let (flag, value) = word.split_once('=').ok_or(word)?;
        let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
        if !flag.starts_with("--") || !flag.chars().all(plain) || !value.chars().all(plain) {
            return Err(format!("the word {word:?}"));
        }
        if !flags.insert(flag.to_owned()) {
            return Err(format!("{flag} twice"));
        }
    }
    Ok(flags)
}

/// What a shell makes of the script that joins an AL2 node: the options of the bootstrap script.
fn options_of_shell(script: &str) -> Result<BTreeSet<String>, String> {
    let lines: Vec<&str> =
        script.lines().filter(|line| !line.starts_with("exec > >(tee")).collect();
    let script = lines.join("\n").replacen("/etc/eks/bootstrap.sh", "printf '%s\\0'", 1);
    let output = Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .output()
        .map_err(|error| error.to_string())?;
    let words = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let mut words = words.split_terminator('\0');
    if !output.status.success() || words.next().is_none() {
        return Err("the script fails".to_owned());
    }
    let mut options = BTreeSet::new();
    while let Some(option) = words.next() {
        // The form of addresses says their family.
        if option == "--ip-family" && words.next() == Some("ipv6") {
            continue;
        }
        let value = words.next().ok_or(option)?;
        if option == "--kubelet-extra-args" {
            options.extend(kubelet_flags(value)?);
        }
        if !options.insert(option.to_owned()) {
            return Err(format!("{option} twice"));
        }
    }
    Ok(options)
}

/// The places of a document down to `depth`.
fn keys(value: &Value, depth: usize, pointer: &str, found: &mut BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten().filter(|_| depth > 0) {
        let pointer = format!("{pointer}/{key}");
        found.insert(pointer.clone());
        keys(value, depth - 1, &pointer, found);
    }
}

/// The fields of a NodeConfig, and the flags of its kubelet.
fn fields_of_node_config(text: &str) -> Result<BTreeSet<String>, String> {
    if let Some(c) = text.chars().find(|c| !c.is_ascii() || c.is_control() && *c != '\n') {
        // Readers of YAML 1.1 take some of them for the end of a line, and refuse others.
        return Err(format!("{c:?} in a NodeConfig"));
    }
    let config: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let mut fields = BTreeSet::new();
    keys(&config, 4, "", &mut fields);
    let flags = config["spec"]["kubelet"]["flags"].as_array().ok_or("no flags")?;
    for flag in flags {
        fields.extend(kubelet_flags(flag.as_str().ok_or("a flag that is no text")?)?);
    }
    let taints = config["spec"]["kubelet"]["config"]["registerWithTaints"].as_array();
    for taint in taints.ok_or("no taints")? {
        keys(taint, 1, "taint", &mut fields);
    }
    Ok(fields)
}

/// The settings of a Bottlerocket node.
fn settings_of_bottlerocket(text: &str) -> Result<BTreeSet<String>, String> {
    let document: toml_edit::DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let mut paths = BTreeSet::new();
    for (key, settings) in document.iter() {
        for (section, values) in settings.as_table_like().ok_or("no table")?.iter() {
            let values = values.as_table_like().ok_or("no table")?;
            paths.extend(values.iter().map(|(value, _)| format!("{key}/{section}/{value}")));
        }
    }
    Ok(paths)
}

/// What PowerShell makes of a script, with a `?` for each of its quoted words.
///
/// <https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_quoting_rules>
fn skeleton_of_powershell(text: &str) -> Result<BTreeSet<String>, String> {
    let lower = text.to_ascii_lowercase();
    let script = lower.strip_prefix("<powershell>\n").ok_or("no beginning")?;
    // The agent takes what stands before the first of these.
    let (script, rest) = script.split_once("</powershell>").ok_or("no end")?;
    if !rest.is_empty() || script.contains("<powershell>") {
        return Err("more than one script".to_owned());
    }
    let is_quote = |c: char| matches!(c, '\'' | '\u{2018}'..='\u{201b}');
    let mut skeleton = String::new();
    let mut rest = script.chars().peekable();
    while let Some(c) = rest.next() {
        if !is_quote(c) {
            skeleton.push(c);
            continue;
        }
        let mut word = String::new();
        loop {
            match rest.next().ok_or("a word that does not end")? {
                c if is_quote(c) && rest.next_if(|next| is_quote(*next)).is_none() => break,
                c => word.push(c),
            }
        }
        skeleton.push('?');
        if skeleton.ends_with("-kubeletextraargs ?") {
            kubelet_flags(&word)?;
        }
    }
    Ok(skeleton.lines().map(ToOwned::to_owned).collect())
}

/// What an instance reads, as the set of everything that is set or done there.
fn understood(family: Family, text: &str) -> Result<BTreeSet<String>, String> {
    match family {
        AL2 => options_of_shell(parts(text).last().ok_or("no parts")?),
        AL2023 => fields_of_node_config(parts(text).last().ok_or("no parts")?),
        BOTTLEROCKET => settings_of_bottlerocket(text),
        _ => skeleton_of_powershell(text),
    }
}

fn check(family: Family) {
    let world = world(family);
    let folder = std::env::temp_dir().join(format!("hostile-{}-{}", std::process::id(), family.0));
    fs::create_dir_all(&folder).expect("a folder for the test");
    answers(&folder);
    let meant = told(&folder, &world).expect("a launch");
    let plain = meant.last().expect("user data");
    let meant = understood(family, plain).expect("sense");
    assert!(meant.len() >= 3, "{meant:?}");
    let mut pointers = Vec::new();
    places(&world, "", &mut pointers);
    // Only `resolve` writes a status, and what these two say decides what is read at all.
    let is_written =
        |pointer: &str| !["/status/", "/apiVersion", "/kind"].iter().any(|p| pointer.contains(p));
    pointers.retain(|(pointer, _)| is_written(pointer));
    let (mut accepted, mut refused) = (0, 0);
    for place in pointers {
        for text in HOSTILE {
            let Ok(texts) = told(&folder, &with(&world, &place, text)) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            // A user's own part does what it says, wherever it can be told from ours.
            let is_own = place.0 == "/class/spec/userData";
            for told in
                texts.iter().filter(|_| !(is_own && matches!(family, BOTTLEROCKET | WINDOWS)))
            {
                let understood = understood(family, told);
                assert_eq!(
                    understood.as_ref(),
                    Ok(&meant),
                    "{family:?} {place:?} {text:?}\n{told}"
                );
                if matches!(family, AL2 | AL2023) && !is_own {
                    assert_eq!(parts(told).len(), parts(plain).len(), "{place:?} {text:?}\n{told}");
                }
            }
        }
    }
    fs::remove_dir_all(&folder).expect("the folder goes");
    println!("{}: {accepted} worlds with a hostile text accepted, {refused} refused", family.0);
    assert!(accepted >= 40 && refused >= 200, "{accepted} accepted, {refused} refused");
}

#[test]
fn a_shell_reads_what_was_meant() {
    check(AL2);
}

#[test]
fn nodeadm_reads_what_was_meant() {
    check(AL2023);
}

#[test]
fn bottlerocket_reads_what_was_meant() {
    check(BOTTLEROCKET);
}

#[test]
fn powershell_reads_what_was_meant() {
    check(WINDOWS);
}
