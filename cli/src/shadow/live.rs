//! Dumps of a running cluster, written with `kubectl get`. Nothing is changed in it.

use std::{fs, thread};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{ShadowArgs, file_name};
use crate::{
    manifests::BadInput,
    program::{self, Failed},
    screen::Screen,
};

/// What is read, each kind with whether a cluster may not know it. Nodes come before pods: what is bound
/// meanwhile is on a node that is there.
const KINDS: [(&str, bool); 13] = [
    ("nodepools.karpenter.sh", true),
    ("ec2nodeclasses.karpenter.k8s.aws", true),
    ("nodeclaims.karpenter.sh", true),
    ("nodes", false),
    ("namespaces", false),
    ("daemonsets.apps", false),
    ("deployments.apps", false),
    ("statefulsets.apps", false),
    ("storageclasses.storage.k8s.io", false),
    ("persistentvolumes", false),
    ("persistentvolumeclaims", false),
    ("poddisruptionbudgets.policy", false),
    ("pods", false),
];

/// Writes a dump each `every` for `length`, the first one now.
#[expect(
    clippy::disallowed_methods,
    reason = "the command is where the clock is read and waited for"
)]
pub(super) fn record(
    args: &ShadowArgs,
    (every, length): (SignedDuration, SignedDuration),
) -> Result<(), BadInput> {
    if every < SignedDuration::from_secs(10) {
        return Err(BadInput::one("--every: must be at least 10s: an API server has other work"));
    }
    let bad = |error: std::io::Error| BadInput::one(format!("{}: {error}", args.dumps.display()));
    fs::create_dir_all(&args.dumps).map_err(bad)?;
    let start = Timestamp::now();
    let mut due = start;
    let mut made = 0_u64;
    loop {
        let now = Timestamp::now();
        let path = args.dumps.join(file_name(now));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items(args)?});
        // A dump that is there is whole, whenever it ends.
        let part = args.dumps.join(".part");
        fs::write(&part, list.to_string()).and_then(|()| fs::rename(&part, &path)).map_err(bad)?;
        made += 1;
        let said = format!("{made} written: {}", path.display());
        // Where nobody can read it there is nobody to tell.
        let _unread = Screen::of_stderr().lines(&said, &mut std::io::stderr());
        due = due.checked_add(every).unwrap_or(Timestamp::MAX);
        if due.duration_since(start) > length {
            return Ok(());
        }
        let pause = due.duration_since(Timestamp::now());
        thread::sleep(std::time::Duration::try_from(pause).unwrap_or_default());
    }
}

fn items(args: &ShadowArgs) -> Result<Vec<Value>, BadInput> {
    let mut items = Vec::new();
    for (kind, is_optional) in KINDS {
        let bad = |said: &str| BadInput::one(format!("kubectl get {kind}: {said}"));
        match output(args, kind) {
            Ok(body) => {
                let mut list: Value =
                    serde_json::from_slice(&body).map_err(|error| bad(&error.to_string()))?;
                let listed = list.get_mut("items").and_then(Value::as_array_mut);
                items.append(listed.ok_or_else(|| bad("it is no list"))?);
            }
            Err(Failed::Said(said))
                if is_optional && said.contains("doesn't have a resource type") => {}
            Err(Failed::Said(said)) => return Err(bad(&said)),
            Err(Failed::NotStarted(error)) => return Err(bad(&error.to_string())),
        }
    }
    Ok(items)
}

fn output(args: &ShadowArgs, kind: &str) -> Result<Vec<u8>, Failed> {
    let mut command = program::kubectl(args.kubectl.as_deref(), args.context.as_deref());
    // In pages of 500, as kubectl does by itself.
    program::output(command.args(["get", kind, "--all-namespaces", "--output=json"]))
}
