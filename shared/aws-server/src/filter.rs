//! Filters, taken seriously: one that is not known refuses the call instead of matching everything.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html>

use std::collections::BTreeMap;

use simulator::{AwsError, is_like};

use crate::parameters::{Parameters, refusal};

/// Values that all filters of a call may have in sum.
const VALUES_MAX: usize = 200;

/// A filter: a thing passes when one of the values matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

impl Filter {
    /// Takes all filters of a request.
    pub(crate) fn take(parameters: &mut Parameters) -> Result<Vec<Self>, AwsError> {
        let mut filters = Vec::new();
        for mut item in parameters.branches("Filter") {
            let name = item.required("Name")?;
            let values = item.texts("Value");
            item.finish()?;
            if values.is_empty() {
                let text = format!("The filter '{name}' has no value");
                return Err(refusal("InvalidParameterValue", text));
            }
            filters.push(Self { name, values });
        }
        if filters.iter().map(|filter| filter.values.len()).sum::<usize>() > VALUES_MAX {
            let text = format!(
                "The maximum number of filter values specified on a single call is {VALUES_MAX}"
            );
            return Err(refusal("FilterLimitExceeded", text));
        }
        Ok(filters)
    }

    /// Whether `value` is one of the values.
    pub(crate) fn has(&self, value: &str) -> bool {
        self.values.iter().any(|pattern| is_like(pattern, value))
    }

    /// What the filter says about `tags`; `None` when it is about something else.
    pub(crate) fn has_tag(&self, tags: &BTreeMap<String, String>) -> Option<bool> {
        if self.name == "tag-key" {
            return Some(tags.keys().any(|key| self.has(key)));
        }
        let key = self.name.strip_prefix("tag:")?;
        Some(tags.get(key).is_some_and(|value| self.has(value)))
    }

    /// How EC2 refuses it.
    pub(crate) fn unknown(&self) -> AwsError {
        refusal("InvalidParameterValue", format!("The filter '{}' is invalid", self.name))
    }
}

/// The tags that selecting filters name: `*` stands for any value. The others come back.
pub(crate) fn selected_tags(
    filters: Vec<Filter>,
) -> Result<(BTreeMap<String, String>, Vec<Filter>), AwsError> {
    let mut tags = BTreeMap::new();
    let mut others = Vec::new();
    for filter in filters {
        let key = match filter.name.strip_prefix("tag:") {
            Some(key) => Some(key.to_owned()),
            None if filter.name == "tag-key" => None,
            None => {
                others.push(filter);
                continue;
            }
        };
        let [value] = filter.values.as_slice() else {
            let text = format!("not supported yet: several values of the filter '{}'", filter.name);
            return Err(refusal("UnsupportedOperation", text));
        };
        match key {
            Some(key) => tags.insert(key, value.clone()),
            None => tags.insert(value.clone(), "*".to_owned()),
        };
    }
    Ok((tags, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_values_are_refused() {
        let values: Vec<String> = (1..=201).map(|n| format!("Filter.1.Value.{n}=i-{n}")).collect();
        let body = format!("Filter.1.Name=instance-id&{}", values.join("&"));
        let refused = Filter::take(&mut Parameters::parse(body.as_bytes())).unwrap_err();
        assert_eq!(refused.code, "FilterLimitExceeded");
    }
}
