//! NodeClaims of v1beta1 and Machines of v1alpha5.
//!
//! Users do not write NodeClaims: they come with the nodes of a cluster, and describe them. Their status is
//! kept for that.

use model::labels;

use super::{Draft, edit, pool};
use crate::document::{
    tree::{Tree, TreeValue},
    yaml::below,
};

const V1: &str = model::api_version::KARPENTER_V1;
const POOL: &str = labels::NODE_POOL;
const PROVISIONER: &str = "karpenter.sh/provisioner-name";
/// Marks a claim whose lifetime its pool knows. No kind has such a field.
const ASKS_POOL: &str = "\u{0}pool";

/// A NodeClaim of v1beta1.
pub(super) fn from_v1beta1(draft: &mut Draft) {
    let line = draft.tree.line;
    draft.tree.put("apiVersion", edit::text(line, V1));
    let Some(spec) = draft.tree.get_mut("spec") else { return };
    spec.put(ASKS_POOL, edit::text(line, ""));
    let mut notes = Vec::new();
    if let Some(reference) = spec.get_mut("nodeClassRef") {
        notes.extend(pool::reference_of_v1beta1(reference));
    }
    if spec.take("kubelet").is_some() {
        notes.push(("/spec", "`kubelet` was left out: it belongs to the EC2NodeClass in v1."));
    }
    for (pointer, text) in notes {
        draft.note(&pointer.replace("/spec/template/spec/", "/spec/"), text);
    }
}

/// A Machine.
pub(super) fn from_machine(draft: &mut Draft) {
    let line = draft.tree.line;
    draft.tree.put("kind", edit::text(line, "NodeClaim"));
    if let Some(labels) = draft.tree.get_mut("metadata").and_then(|m| m.get_mut("labels"))
        && let Some(name) = labels.take(PROVISIONER)
    {
        labels.put(POOL, name);
        let pointer = below("/metadata/labels", POOL);
        draft.note(&pointer, format!("It was {PROVISIONER}."));
    }
    if let Some(spec) = draft.tree.get_mut("spec") {
        if let Some(mut reference) = spec.take("machineTemplateRef") {
            reference.take("apiVersion");
            reference.put("group", edit::text(line, model::api_version::AWS_GROUP));
            reference.put("kind", edit::text(line, "EC2NodeClass"));
            spec.put("nodeClassRef", reference);
        }
        rename_requirement(spec);
    }
    draft.note("/spec/nodeClassRef", "It was machineTemplateRef, of an AWSNodeTemplate.");
    rename_conditions(&mut draft.tree);
    from_v1beta1(draft);
}

fn rename_requirement(spec: &mut Tree) {
    let Some(Tree { value: TreeValue::List(items), .. }) = spec.get_mut("requirements") else {
        return;
    };
    for item in items {
        if let Some(key) = item.get_mut("key")
            && key.as_text() == Some(PROVISIONER)
        {
            key.value = TreeValue::Text(POOL.to_owned());
        }
    }
}

/// `MachineLaunched` is `Launched`, and so on.
fn rename_conditions(tree: &mut Tree) {
    let conditions = tree.get_mut("status").and_then(|status| status.get_mut("conditions"));
    let Some(Tree { value: TreeValue::List(items), .. }) = conditions else { return };
    for item in items {
        if let Some(Tree { value: TreeValue::Text(kind), .. }) = item.get_mut("type")
            && let Some(rest) = kind.strip_prefix("Machine")
        {
            *kind = rest.to_owned();
        }
    }
}

/// Gives claims the lifetime that their pools say: until v1 claims did not say it themselves.
pub(super) fn ask_pools(drafts: &mut [Draft]) {
    let claims: Vec<usize> = (0..drafts.len())
        .filter(|at| drafts.get_mut(*at).is_some_and(|draft| asks_pool(&mut draft.tree)))
        .collect();
    for at in claims {
        let name = drafts.get(at).and_then(|draft| pool_of(&draft.tree));
        let pools = drafts.iter().filter(|draft| is_pool(&draft.tree));
        let mut named = pools.filter(|draft| name_of(&draft.tree) == name);
        let lifetime = named.next().map(|pool| lifetime_of(&pool.tree));
        let Some(draft) = drafts.get_mut(at) else { continue };
        let line = draft.tree.line;
        let Some(lifetime) = lifetime else {
            draft.complain(
                line,
                "spec.expireAfter",
                "was a setting of the claim's pool, which is not in the same file",
                "put both into one file",
            );
            continue;
        };
        if let Some(spec) = draft.tree.get_mut("spec") {
            // What a pool does not say is v1's default, as it was v1beta1's.
            spec.put("expireAfter", lifetime.unwrap_or_else(|| edit::text(line, "720h")));
            draft.note("/spec/expireAfter", "What its pool says.");
        }
    }
}

fn asks_pool(tree: &mut Tree) -> bool {
    tree.get_mut("spec").is_some_and(|spec| spec.take(ASKS_POOL).is_some())
}

fn is_pool(tree: &Tree) -> bool {
    tree.get("kind").and_then(Tree::as_text) == Some("NodePool")
}

fn name_of(tree: &Tree) -> Option<String> {
    Some(tree.get("metadata")?.get("name")?.as_text()?.to_owned())
}

fn pool_of(tree: &Tree) -> Option<String> {
    Some(tree.get("metadata")?.get("labels")?.get(POOL)?.as_text()?.to_owned())
}

fn lifetime_of(pool: &Tree) -> Option<Tree> {
    pool.get("spec")?.get("template")?.get("spec")?.get("expireAfter").cloned()
}
