//! Kubelet settings: of the pool until v1beta1, of the class since v1.
//!
//! Pools that share a class and want different settings get classes of their own.

use super::{Draft, edit, pool::KUBELET};
use crate::document::tree::{Entry, Tree, TreeValue};

/// A class as one pool wants it.
struct Variant {
    kubelet: Option<Tree>,
    /// The name of the class with these settings.
    class: String,
}

/// Moves the settings of pools to the classes that they name.
pub(super) fn distribute(drafts: &mut Vec<Draft>) {
    let classes: Vec<_> =
        (0..drafts.len()).filter(|at| kind(drafts, *at) == "EC2NodeClass").collect();
    for at in classes {
        let Some(name) = drafts.get(at).and_then(name_of) else { continue };
        let pools: Vec<_> =
            (0..drafts.len()).filter(|pool| refers_to(drafts, *pool, &name)).collect();
        let mut variants: Vec<Variant> = Vec::new();
        for pool in pools {
            let Some(draft) = drafts.get_mut(pool) else { continue };
            let kubelet = take_kubelet(draft);
            let wanted = kubelet.as_ref().map(Tree::to_json);
            let same = |variant: &&Variant| variant.kubelet.as_ref().map(Tree::to_json) == wanted;
            if let Some(variant) = variants.iter().find(same) {
                refer_to(draft, &name, &variant.class);
                continue;
            }
            let class = match (variants.is_empty(), name_of(draft)) {
                (false, Some(pool)) => format!("{name}-{pool}"),
                _ => name.clone(),
            };
            refer_to(draft, &name, &class);
            variants.push(Variant { kubelet, class });
        }
        // The last first: a copy is taken of the class as it was.
        for Variant { kubelet, class } in variants.into_iter().rev() {
            settle(drafts, at, &name, kubelet, &class);
        }
    }
    for draft in drafts {
        if let Some(kubelet) = take_kubelet(draft) {
            draft.complain(
                kubelet.line,
                "kubelet",
                "belongs in the EC2NodeClass, which is not there in an older version",
                "convert both together, or move the settings yourself",
            );
        }
    }
}

fn settle(drafts: &mut Vec<Draft>, at: usize, name: &str, kubelet: Option<Tree>, class: &str) {
    let Some(original) = drafts.get_mut(at) else { return };
    if class == name {
        add(original, kubelet);
        return;
    }
    let mut copy = Draft {
        tree: original.tree.clone(),
        comments: original.comments.clone(),
        complaints: Vec::new(),
        was: original.was.clone(),
        from: original.from.clone(),
        file: original.file.clone(),
    };
    let line = copy.tree.line;
    if let Some(metadata) = copy.tree.get_mut("metadata") {
        metadata.put("name", edit::text(line, class));
    }
    copy.note("/metadata/name", format!("A copy of {name}, for a pool with another kubelet."));
    add(&mut copy, kubelet);
    drafts.push(copy);
}

fn add(class: &mut Draft, kubelet: Option<Tree>) {
    let (Some(mut kubelet), Some(spec)) = (kubelet, class.tree.get_mut("spec")) else { return };
    let has_runtime = kubelet.take("containerRuntime").is_some();
    quote_amounts(&mut kubelet);
    spec.put("kubelet", kubelet);
    class.note("/spec/kubelet", "It was in the NodePools of this class.");
    if has_runtime {
        let text = "`containerRuntime` was left out: every image has containerd.";
        class.note("/spec/kubelet", text);
    }
}

/// Amounts are texts in v1; the old versions took `cpu: 1` as well.
fn quote_amounts(kubelet: &mut Tree) {
    for key in ["kubeReserved", "systemReserved", "evictionHard", "evictionSoft"] {
        let Some(Tree { value: TreeValue::Map(entries), .. }) = kubelet.get_mut(key) else {
            continue;
        };
        for Entry { value, .. } in entries {
            if let TreeValue::Number(number) = &value.value {
                *value = Tree::new(value.line, TreeValue::Text(number.clone()));
            }
        }
    }
}

fn kind(drafts: &[Draft], at: usize) -> &str {
    let kind = drafts.get(at).and_then(|draft| draft.tree.get("kind"));
    kind.and_then(Tree::as_text).unwrap_or_default()
}

fn name_of(draft: &Draft) -> Option<String> {
    let name = draft.tree.get("metadata")?.get("name")?.as_text()?;
    Some(name.to_owned())
}

fn template(draft: &mut Draft) -> Option<&mut Tree> {
    draft.tree.get_mut("spec")?.get_mut("template")?.get_mut("spec")
}

fn take_kubelet(draft: &mut Draft) -> Option<Tree> {
    template(draft)?.take(KUBELET)
}

fn refers_to(drafts: &[Draft], at: usize, class: &str) -> bool {
    let spec = drafts.get(at).and_then(|draft| draft.tree.get("spec"));
    let template = spec.and_then(|spec| spec.get("template")).and_then(|t| t.get("spec"));
    let reference = template.and_then(|spec| spec.get("nodeClassRef"));
    reference.and_then(|r| r.get("name")).and_then(Tree::as_text) == Some(class)
}

fn refer_to(draft: &mut Draft, old: &str, class: &str) {
    if old == class {
        return;
    }
    let Some(reference) = template(draft).and_then(|spec| spec.get_mut("nodeClassRef")) else {
        return;
    };
    let line = reference.line;
    reference.put("name", edit::text(line, class));
    let text = format!("A copy of {old} with this pool's kubelet.");
    draft.note("/spec/template/spec/nodeClassRef/name", text);
}
