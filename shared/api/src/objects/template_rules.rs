//! What an API server refuses of the pod templates of workloads.
//!
//! Kubernetes: `pkg/apis/apps/validation/validation.go`, `pkg/apis/batch/validation/validation.go`.

use model::{PodSpec, selector::LabelSelector};

use crate::document::field::Field;

/// Complains of a `restartPolicy` that the pods of `workload` cannot have: those of a Job end.
pub(super) fn check_restart_policy(workload: &Field<'_>, is_job: bool) {
    let template = workload.at("spec").at("template");
    let spec = template.at("spec");
    if !template.has("spec") {
        return;
    }
    let written = spec.text_at("restartPolicy");
    let field = spec.at("restartPolicy");
    match (is_job, written) {
        (true, Some("OnFailure" | "Never")) | (false, None | Some("Always")) => {}
        (true, written) => {
            let written = written.map_or_else(
                || "`Always`, the default".to_owned(),
                |written| format!("`{written}`"),
            );
            field.complain_if_written_with(
                format!("must be `OnFailure` or `Never` in a Job, not {written}"),
                "write one of them",
            );
        }
        (false, Some(written)) => field.complain_if_written_with(
            format!("must be `Always`, not `{written}`"),
            "leave it out, or make a Job",
        ),
    }
}

/// Complains of a `selector` of `workload` that does not select the pods of its template, which are like `pod`.
pub(super) fn check_selector(
    workload: &Field<'_>,
    selector: Option<&LabelSelector>,
    pod: &PodSpec,
) {
    let spec = workload.at("spec");
    let cure = "write the labels of the template under `selector.matchLabels`";
    if !spec.has("selector") {
        spec.missing("selector").complain_if_written_with("is required", cure);
        return;
    }
    let Some(selector) = selector.filter(|selector| !selector.is_invalid) else { return };
    let field = spec.at("selector");
    if selector.expressions.is_empty() {
        field.complain_if_written_with("must not be empty", cure);
    } else if !selector.selects(&pod.labels) {
        field.complain_if_written_with("does not select the pods of the template", cure);
    }
}

/// Complains of a name of the StatefulSet `workload` with which its pods are refused: each gets the label
/// `controller-revision-hash`, which is this name and a hash of ten characters, and a label has 63 at most.
///
/// <https://github.com/kubernetes/kubernetes/issues/64023>
pub(super) fn check_name_of_stateful_set(workload: &Field<'_>) {
    const CHARACTERS_MAX: usize = 63 - "-0123456789".len();
    let name = workload.at("metadata").text_at("name").map_or(0, str::len);
    if CHARACTERS_MAX < name {
        workload.at("metadata").at("name").complain_if_written_with(
            format!(
                "has {name} characters: a StatefulSet with more than {CHARACTERS_MAX} gets no pods"
            ),
            "shorten it",
        );
    }
}
