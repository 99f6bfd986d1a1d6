//! Which value each parameter of a stack gets. The template itself says which parameters there are.

use std::collections::BTreeMap;

use report::error::BadInput;

use crate::live::{ParameterValue, ParameterValues, TemplateParameter};

/// The values that `--parameter NAME=VALUE` gives. Those of `reserved` have options of their own.
///
/// # Errors
///
/// If a text is not of this form, names a parameter twice, or names one of `reserved`, each with its option.
pub fn read(
    texts: &[String],
    reserved: &[(&str, &str)],
) -> Result<BTreeMap<String, String>, BadInput> {
    let mut values = BTreeMap::new();
    for text in texts {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| BadInput::one(format!("--parameter {text}: must be NAME=VALUE")))?;
        if let Some((_, option)) = reserved.iter().find(|(taken, _)| *taken == name) {
            return Err(BadInput::one(format!("--parameter {name}: use {option}")));
        }
        if values.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(BadInput::one(format!("--parameter {name}: given twice")));
        }
    }
    Ok(values)
}

/// The value of each parameter that does not keep its default: `new` first, then that of the stack. And the parameters
/// that have none, not even a default.
///
/// # Errors
///
/// If the template does not declare a parameter of `new`.
pub fn decided<'a>(
    declared: &'a [TemplateParameter],
    new: &BTreeMap<String, String>,
    former: &BTreeMap<String, String>,
) -> Result<(ParameterValues, Vec<&'a TemplateParameter>), BadInput> {
    let is_declared = |name: &String| declared.iter().any(|parameter| parameter.name == *name);
    if let Some(name) = new.keys().find(|name| !is_declared(name)) {
        let mut names: Vec<&str> =
            declared.iter().map(|parameter| parameter.name.as_str()).collect();
        names.sort_unstable();
        return Err(BadInput::one(format!(
            "the template has no parameter {name}: it has {}",
            names.join(", ")
        )));
    }
    let (mut values, mut missing) = (ParameterValues::new(), Vec::new());
    for parameter in declared {
        if let Some(value) = new.get(&parameter.name) {
            values.insert(parameter.name.clone(), ParameterValue::New(value.clone()));
        } else if former.contains_key(&parameter.name) {
            values.insert(parameter.name.clone(), ParameterValue::Former);
        } else if parameter.default.is_none() {
            missing.push(parameter);
        }
    }
    Ok((values, missing))
}

/// What the parameter `name` will be; `None` if the template does not declare it, or it has no value yet. CloudFormation
/// shows a secret of the stack as asterisks.
pub fn value_of<'a>(
    name: &str,
    declared: &'a [TemplateParameter],
    new: &'a BTreeMap<String, String>,
    former: &'a BTreeMap<String, String>,
) -> Option<&'a str> {
    let parameter = declared.iter().find(|parameter| parameter.name == name)?;
    let value = new.get(name).or_else(|| former.get(name)).or(parameter.default.as_ref());
    value.map(String::as_str)
}
