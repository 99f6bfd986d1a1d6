//! What selects pods by their labels alone: Services and ReplicationControllers.

use std::collections::BTreeMap;

use model::PodKey;

use super::metadata::Metadata;
use crate::document::field::Field;

/// The name of an object and the labels that a pod must have to be selected.
pub type LabelsSelected = (PodKey, BTreeMap<String, String>);

/// Reads a Service. One without a selector selects nothing: its labels are empty.
pub(crate) fn read_service(object: &Field<'_>) -> Option<LabelsSelected> {
    let (key, spec) = parts(object)?;
    let selector = spec.and_then(|spec| spec.fields()?.get("selector"));
    Some((key, labels(selector)))
}

/// Reads a ReplicationController. The API server has it select the labels of its template if it names none.
pub(crate) fn read_replication_controller(object: &Field<'_>) -> Option<LabelsSelected> {
    let (key, spec) = parts(object)?;
    let mut spec = spec.and_then(|spec| spec.fields());
    let mut member = |key: &'static str| spec.as_mut().and_then(|spec| spec.get(key));
    let selector = member("selector").or_else(|| {
        let template = member("template")?.fields()?.get("metadata")?;
        template.fields()?.get("labels")
    });
    Some((key, labels(selector)))
}

/// The name and `spec` of `object`, of which nothing else decides anything.
fn parts<'a>(object: &Field<'a>) -> Option<(PodKey, Option<Field<'a>>)> {
    let mut fields = object.fields()?;
    let key = Metadata::read(&mut fields)?.key(object)?;
    Some((key, fields.get("spec")))
}

fn labels(field: Option<Field<'_>>) -> BTreeMap<String, String> {
    field.and_then(|field| field.text_map()).unwrap_or_default()
}
