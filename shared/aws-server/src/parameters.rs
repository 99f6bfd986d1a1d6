//! Parameters of a query request, as a tree: `Filter.1.Value.2=x` is `x` at Filter → 1 → Value → 2.
//!
//! A handler takes what it knows out of the tree; what is left at the end refuses the call, as
//! EC2 does with parameters that it does not know. So nothing that is sent is ignored in silence.

use std::{collections::BTreeMap, str::FromStr};

use simulator::AwsError;

/// A branch of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    value: Option<String>,
    children: BTreeMap<String, Self>,
}

impl Parameters {
    /// Reads the body of a request.
    pub(crate) fn parse(body: &[u8]) -> Self {
        let mut root = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            let mut at = &mut root;
            for part in name.split('.') {
                at = at.children.entry(part.to_owned()).or_default();
            }
            at.value = Some(value.into_owned());
        }
        root
    }

    /// Takes the value of `name`.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let child = self.children.get_mut(name)?;
        let value = child.value.take();
        if child.children.is_empty() {
            self.children.remove(name);
        }
        value
    }

    /// Takes the value of `name`, which must be there.
    pub(crate) fn required(&mut self, name: &str) -> Result<String, AwsError> {
        self.text(name).ok_or_else(|| {
            refusal("MissingParameter", format!("The request must contain the parameter {name}"))
        })
    }

    /// Takes the value of `name` as what it must be.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, AwsError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| invalid(name, &text))
    }

    /// Takes `name`, which is `true` or `false`.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, AwsError> {
        Ok(self.parsed(name)?.unwrap_or(false))
    }

    /// Takes the branch `name`.
    pub(crate) fn branch(&mut self, name: &str) -> Option<Self> {
        self.children.remove(name)
    }

    /// Takes the branches `name.1`, `name.2`, … in the order of their numbers.
    pub(crate) fn branches(&mut self, name: &str) -> Vec<Self> {
        let Some(list) = self.branch(name) else { return Vec::new() };
        let mut items: Vec<(u64, Self)> = list
            .children
            .into_iter()
            .filter_map(|(number, item)| Some((number.parse().ok()?, item)))
            .collect();
        items.sort_by_key(|(number, _)| *number);
        items.into_iter().map(|(_, item)| item).collect()
    }

    /// Takes the values `name.1`, `name.2`, … in the order of their numbers.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        self.branches(name).into_iter().filter_map(|item| item.value).collect()
    }

    /// Takes the values `name.1`, … as what they must be.
    pub(crate) fn all<T: FromStr>(&mut self, name: &str) -> Result<Vec<T>, AwsError> {
        let texts = self.texts(name);
        texts.iter().map(|text| text.parse().map_err(|_| invalid(name, text))).collect()
    }

    /// Takes pairs such as `Tag.1.Key`, `Tag.1.Value`.
    pub(crate) fn pairs(&mut self, name: &str) -> Result<BTreeMap<String, String>, AwsError> {
        let mut pairs = BTreeMap::new();
        for mut item in self.branches(name) {
            let key = item.required("Key")?;
            let value = item.text("Value").unwrap_or_default();
            item.finish()?;
            if pairs.insert(key.clone(), value).is_some() {
                let text = format!("Duplicate tag key '{key}' specified.");
                return Err(refusal("InvalidParameterValue", text));
            }
        }
        Ok(pairs)
    }

    /// Drops whatever is at `name`: it is taken and has no effect here.
    pub(crate) fn accept(&mut self, name: &str) {
        self.children.remove(name);
    }

    /// Refuses parameters that were not taken.
    pub(crate) fn finish(&self) -> Result<(), AwsError> {
        match self.first("") {
            None => Ok(()),
            Some(name) => Err(refusal(
                "UnknownParameter",
                format!("The parameter {name} is not recognized, or not supported yet"),
            )),
        }
    }

    fn first(&self, path: &str) -> Option<String> {
        if self.value.is_some() {
            return Some(path.to_owned());
        }
        self.children.iter().find_map(|(name, child)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            child.first(&path)
        })
    }
}

/// A refusal with `code`.
pub(crate) fn refusal(code: &'static str, message: impl Into<String>) -> AwsError {
    AwsError { code, message: message.into() }
}

/// EC2's words for a value that it does not take.
pub(crate) fn invalid(name: &str, value: &str) -> AwsError {
    refusal("InvalidParameterValue", format!("Value ({value}) for parameter {name} is invalid."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_make_lists_in_their_order() {
        let mut parameters = Parameters::parse(
            b"Id.10=c&Id.2=b&Id.1=a&Tag.1.Key=team&Tag.1.Value=x%2Fy+z&DryRun=true",
        );
        assert_eq!(parameters.texts("Id"), ["a", "b", "c"]);
        let tags = parameters.pairs("Tag").unwrap();
        assert_eq!(tags, BTreeMap::from([("team".to_owned(), "x/y z".to_owned())]));
        assert!(parameters.flag("DryRun").unwrap());
        assert_eq!(parameters.finish(), Ok(()));
    }

    #[test]
    fn what_is_not_taken_is_refused_by_its_name() {
        let mut parameters = Parameters::parse(b"A.1.B=1&A.1.C=2");
        let mut items = parameters.branches("A");
        assert_eq!(items[0].text("B").as_deref(), Some("1"));
        let problem = items[0].finish().unwrap_err();
        assert_eq!(problem.code, "UnknownParameter");
        assert!(problem.message.contains(" C "), "{problem}");
    }

    #[test]
    fn a_value_of_another_kind_is_refused() {
        let mut parameters = Parameters::parse(b"MaxResults=many");
        let problem = parameters.parsed::<u32>("MaxResults").unwrap_err();
        let text = "InvalidParameterValue: Value (many) for parameter MaxResults is invalid.";
        assert_eq!(problem.to_string(), text);
    }
}
