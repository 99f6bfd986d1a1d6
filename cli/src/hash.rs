//! `journeyman hash`: drift hashes of NodePools and EC2NodeClasses, and what would drift by them.

use crate::options::MoreManifests;
use report::command::RunCommand;
use std::{collections::BTreeMap, fmt::Write as _, io::Write, path::PathBuf};

use api::files::stored::{self, HashError, HashedNodeClaim, HashedNodeClass, Stored};
use model::static_hash::{NODE_CLASS, NODE_POOL, StaticHash, StoredHash};
use report::{
    error::{BadInput, CommandError},
    format::Format,
    output::{count, many},
    screen::Screen,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    authority::{self, AuthorityArgs},
    hashes::{Authority, ClassHashes, ToHash},
    manifests::{self, Depth},
};

/// Options of `hash`.
#[derive(Clone, Debug, clap::Args)]
pub struct HashArgs {
    /// NodePools and EC2NodeClasses as the API server returns them: files, directories, or `-`. With --against, the
    /// defaults that the API server fills in are part of the hash.
    #[arg(value_name = "DIR|FILE", required_unless_present = "filenames")]
    pub manifests: Vec<PathBuf>,
    /// More of them, as kubectl takes them.
    #[command(flatten)]
    pub more: MoreManifests,
    /// The cluster's certificate authority; otherwise that of the kubeconfig's current context, if it fits the input.
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Show which nodes of these NodeClaims would drift (`kubectl get nodeclaims -o yaml`).
    #[arg(long, value_name = "DIR|FILE")]
    pub against: Vec<PathBuf>,
    /// Exit with code 1 if a node would drift, or if a hash to compare is unknown.
    #[arg(long, requires = "against")]
    pub strict: bool,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
}

/// A node that is compared with its NodePool and EC2NodeClass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Comparison {
    /// The node's name; the claim's while it has none.
    node: String,
    node_claim: String,
    node_pool: Option<String>,
    drifts: bool,
    /// Whether a hash to compare with is unknown.
    is_unknown: bool,
    /// Why it drifts, or why it does not although hashes differ.
    reasons: Vec<String>,
}

/// Whether a node drifts by a hash.
enum Compared {
    Same,
    Drifts(String),
    Cannot(String),
    /// The object is there, and its hash cannot be worked out.
    Unknown(String),
}

/// What objects are compared by.
struct Hashes {
    /// `NodePool/name` and `EC2NodeClass/name` with their hashes; `None` is unknown.
    hashes: BTreeMap<String, Option<String>>,
    /// The hashes of EC2NodeClasses by name, with those that are stored.
    classes: ClassHashes<String>,
}

/// Prints the hashes; with `--against`, also which nodes drift. `true`: some do, or, with `--strict`, may.
pub fn run(args: &HashArgs, screen: Screen, out: &mut impl Write) -> Result<bool, CommandError> {
    let stored = load(&args.more.after(&args.manifests), args.more.depth())?;
    let authority = args.authority.read()?;
    if args.against.is_empty() {
        let hashes = hashes(&stored, Absent::StaysAbsent, authority.clone(), &[])?;
        if args.output.is_document() {
            report::json::write(&json!(hashes.hashes), args.output, out)?;
        } else {
            let filled_in = self::hashes(&stored, Absent::IsFilledIn, authority, &[])?;
            screen.lines(&table(&hashes), out)?;
            screen.lines(&difference(&hashes, filled_in), out)?;
            screen.lines(&note(&hashes), out)?;
        }
        return Ok(false);
    }
    let claims = load(&args.against, args.more.depth())?.node_claims;
    if claims.is_empty() {
        let text = "--against has no NodeClaims: `kubectl get nodeclaims -o yaml` prints them";
        return Err(CommandError::Input(BadInput::one(text)));
    }
    // What is compared with a cluster would be applied to it.
    let hashes = hashes(&stored, Absent::IsFilledIn, authority, &claims)?;
    let note = note(&hashes);
    let comparisons: Vec<_> = claims.iter().map(|claim| comparison(claim, &hashes)).collect();
    let drifts = comparisons.iter().any(|comparison| comparison.drifts);
    let is_unknown = comparisons.iter().any(|comparison| comparison.is_unknown);
    if args.output.is_document() {
        let note = note.trim();
        let document = json!({"hashes": hashes.hashes, "nodes": comparisons, "note": note});
        report::json::write(&document, args.output, out)?;
    } else {
        screen.lines(&table(&hashes), out)?;
        screen.lines(&described(&comparisons), out)?;
        screen.lines(&note, out)?;
    }
    // What cannot be compared is no proof that nothing drifts.
    Ok(drifts || args.strict && is_unknown)
}

/// Which of `hashes` are others where an API server has filled in the defaults.
fn difference(hashes: &Hashes, filled_in: Hashes) -> String {
    let others =
        filled_in.hashes.into_iter().filter(|(name, hash)| hashes.hashes.get(name) != Some(hash));
    let line = |(name, hash): (String, Option<String>)| {
        let hash = hash.unwrap_or_default();
        format!(
            "\nIn a cluster {name} has the hash {hash}: the API server fills in what is left out here.\n"
        )
    };
    others.map(line).collect()
}

/// Where the certificate authority comes from if no option gives it, or what is unknown without one.
fn note(hashes: &Hashes) -> String {
    let ClassHashes { context, foreign, .. } = &hashes.classes;
    if hashes.hashes.values().any(Option::is_none) {
        let cure = authority::cure(foreign.as_deref());
        return format!("\nHashes of EC2NodeClasses cannot be calculated: {cure}.\n");
    }
    if let Some(of_store) = hashes.classes.of_store() {
        return format!("\n{of_store}.\n");
    }
    let has_classes = !hashes.classes.known.is_empty();
    let context = context.as_ref().filter(|_| has_classes);
    context.map_or_else(String::new, |context| format!("\n{}.\n", authority::of_context(context)))
}

impl RunCommand for HashArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let some_drift = run(self, screen, &mut { out })?;
        Ok(!(self.strict && some_drift))
    }
}

fn load(paths: &[PathBuf], depth: Depth) -> Result<Stored, CommandError> {
    let mut merged = Stored::default();
    for file in manifests::files(paths, depth)? {
        let mut stored = stored::read(&file.text, &file.name);
        if !file.is_meant() {
            // Directories hold more than manifests.
            stored.problems.retain(|problem| problem.object.is_some());
        }
        merged.node_pools.append(&mut stored.node_pools);
        merged.node_classes.append(&mut stored.node_classes);
        merged.node_claims.append(&mut stored.node_claims);
        merged.problems.append(&mut stored.problems);
    }
    if merged.problems.is_empty() {
        return Ok(merged);
    }
    Err(CommandError::Input(BadInput(merged.problems.iter().map(ToString::to_string).collect())))
}

/// What becomes of fields that are absent in the manifests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    StaysAbsent,
    /// By an API server, with its default.
    IsFilledIn,
}

/// The hashes of all objects.
fn hashes(
    stored: &Stored,
    absent: Absent,
    authority: Authority,
    claims: &[HashedNodeClaim],
) -> Result<Hashes, CommandError> {
    let mut hashes = BTreeMap::new();
    for pool in &stored.node_pools {
        let name = format!("NodePool/{}", pool.name);
        let hash = match absent {
            Absent::StaysAbsent => pool.hash.clone(),
            Absent::IsFilledIn => pool.hash_filled_in.clone(),
        };
        hashes.insert(name.clone(), Some(known(&name, hash)?.to_string()));
    }
    let to_hash = |class: &HashedNodeClass| {
        let hash = match absent {
            Absent::StaysAbsent => class.hash.clone(),
            Absent::IsFilledIn => class.hash_filled_in.clone(),
        };
        let of_spec = known(&format!("EC2NodeClass/{}", class.name), hash)?;
        let annotations = class.annotations.clone();
        let (name, is_observed) = (class.name.clone(), class.is_observed);
        Ok(ToHash { name, of_spec: Some(of_spec), annotations, is_observed })
    };
    let to_hash: Result<_, CommandError> = stored.node_classes.iter().map(to_hash).collect();
    let of_claims = claims.iter().map(|claim| (&claim.node_class, &claim.annotations));
    let classes = ClassHashes::of(authority, to_hash?, of_claims);
    for class in &stored.node_classes {
        let hash = classes.known.get(&class.name).cloned();
        hashes.insert(format!("EC2NodeClass/{}", class.name), hash);
    }
    if hashes.is_empty() {
        let text = "there is no NodePool or EC2NodeClass to hash";
        return Err(CommandError::Input(BadInput::one(text)));
    }
    Ok(Hashes { hashes, classes })
}

fn known<H>(name: &str, outcome: Result<H, HashError>) -> Result<H, CommandError> {
    outcome.map_err(|error| CommandError::Input(BadInput::one(format!("{name}: {error}"))))
}

fn comparison(claim: &HashedNodeClaim, hashes: &Hashes) -> Comparison {
    let pool_key = claim.node_pool.as_ref().map(|pool| format!("NodePool/{pool}"));
    let class_key = format!("EC2NodeClass/{}", claim.node_class);
    let compared = [
        pool_key.map_or_else(
            || Compared::Cannot("the claim names no NodePool".to_owned()),
            |key| compare(claim, &key, hashes, NODE_POOL),
        ),
        compare(claim, &class_key, hashes, NODE_CLASS),
    ];
    let drifts = compared.iter().any(|compared| matches!(compared, Compared::Drifts(_)));
    let is_unknown = compared.iter().any(|compared| matches!(compared, Compared::Unknown(_)));
    let reason = |compared| match compared {
        Compared::Same => None,
        Compared::Drifts(reason) | Compared::Cannot(reason) | Compared::Unknown(reason) => {
            Some(reason)
        }
    };
    Comparison {
        node: claim.node.as_ref().unwrap_or(&claim.name).clone(),
        node_claim: claim.name.clone(),
        node_pool: claim.node_pool.clone(),
        drifts,
        is_unknown,
        reasons: compared.into_iter().filter_map(reason).collect(),
    }
}

/// Compares as Karpenter does: only where both sides have a hash of the same version.
fn compare(claim: &HashedNodeClaim, key: &str, hashes: &Hashes, kind: StaticHash) -> Compared {
    let Some(worked_out) = hashes.hashes.get(key) else {
        return Compared::Cannot(format!("{key} is not among the manifests"));
    };
    let drifts = |of_claim: StoredHash<'_>, now: StoredHash<'_>| {
        Compared::Drifts(format!(
            "{key} has changed: {} on the claim, {} now",
            of_claim.hash, now.hash
        ))
    };
    let Some(of_claim) = kind.of(&claim.annotations) else {
        return Compared::Cannot(format!("the claim has no hash of {key}"));
    };
    let stored = || hashes.classes.stored_difference(&claim.node_class, &claim.annotations);
    if kind == NODE_CLASS
        && let Some([now, of_claim]) = stored()
    {
        return drifts(of_claim, now);
    }
    let worked_out = worked_out.as_deref();
    // Without the other hash, the version alone still tells whether the claim's counts.
    let wanted = StoredHash { version: kind.version, hash: worked_out.unwrap_or_default() };
    match (of_claim.differs(wanted), worked_out) {
        (None, _) => Compared::Cannot(format!(
            "the claim's hash of {key} has the version {}, not {}: it will be written anew, and does \
             not count",
            of_claim.version, wanted.version
        )),
        (Some(_), None) => {
            Compared::Unknown(format!("{key} cannot be compared: its hash is unknown"))
        }
        (Some(false), _) => Compared::Same,
        (Some(true), _) => drifts(of_claim, wanted),
    }
}

fn table(Hashes { hashes, .. }: &Hashes) -> String {
    let width = hashes.keys().map(String::len).max().unwrap_or_default();
    let mut text = String::new();
    for (name, hash) in hashes {
        let version =
            if name.starts_with("NodePool/") { NODE_POOL.version } else { NODE_CLASS.version };
        let hash = hash.as_deref().unwrap_or("unknown");
        // Writing to a String cannot fail.
        let _written = writeln!(text, "{name:width$}  {version}  {hash}");
    }
    text
}

fn described(comparisons: &[Comparison]) -> String {
    let mut text = String::from("\n");
    for Comparison { node, drifts, is_unknown, reasons, .. } in comparisons {
        let word = match (drifts, is_unknown) {
            (true, _) => "drifts",
            (false, true) => "may drift",
            (false, false) => "stays",
        };
        let reasons = reasons.join("; ");
        let colon = if reasons.is_empty() { "" } else { ": " };
        let _written = writeln!(text, "{node} {word}{colon}{reasons}");
    }
    let number =
        |is_meant: fn(&&Comparison) -> bool| many(comparisons.iter().filter(is_meant).count());
    let drifting = number(|comparison| comparison.drifts);
    let nodes = count(u64::try_from(comparisons.len()).unwrap_or(u64::MAX), "node");
    let doubtful = match number(|comparison| !comparison.drifts && comparison.is_unknown).as_str() {
        "0" => String::new(),
        doubtful => format!(", {doubtful} may drift"),
    };
    let _written = writeln!(text, "{drifting} of {nodes} would drift{doubtful}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFESTS: &str = r"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
      expireAfter: 720h
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {team: a}}]
  securityGroupSelectorTerms: [{tags: {team: a}}]
";

    fn claim(name: &str, pool_hash: &str, version: &str) -> String {
        format!(
            "---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: {name}
  labels: {{karpenter.sh/nodepool: general}}
  annotations: {{karpenter.sh/nodepool-hash: '{pool_hash}', karpenter.sh/nodepool-hash-version: {version}}}
spec:
  nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
  requirements: []
"
        )
    }

    /// The whole output, and whether nodes drift.
    fn printed(folder: &str, claims: Option<&str>) -> (String, bool) {
        let folder = std::env::temp_dir().join(format!("journeyman-hash-{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name)
        };
        let args = HashArgs {
            more: MoreManifests::default(),
            manifests: vec![file("objects.yaml", MANIFESTS)],
            authority: AuthorityArgs { ca_bundle: Some("Q0E=".to_owned()), cluster_facts: None },
            against: claims.map(|text| file("claims.yaml", text)).into_iter().collect(),
            strict: false,
            output: Format::Table,
        };
        let mut out = Vec::new();
        let drifts = run(&args, Screen::default(), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), drifts)
    }

    #[test]
    fn hashes_stand_beside_their_versions() {
        let (text, drifts) = printed("plain", None);
        assert!(text.contains("NodePool/general      v3  6821555240594823858\n"), "{text}");
        assert!(!drifts);
    }

    #[test]
    fn a_node_drifts_only_by_a_hash_of_the_same_version() {
        let claims = claim("same", "6821555240594823858", "v3")
            + &claim("other", "1", "v3")
            + &claim("older", "1", "v2");
        let (text, drifts) = printed("against", Some(&claims));
        assert!(drifts);
        for said in
            ["\nsame stays", "\nother drifts: ", "\nolder stays: ", "1 of 3 nodes would drift"]
        {
            assert!(text.contains(said), "{said}: {text}");
        }
    }
}
