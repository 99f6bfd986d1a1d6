//! EC2: instances, launch templates and what selectors of EC2NodeClasses name.

mod discovery;
mod dry_run;
mod fleet;
mod image;
mod instance;
mod market;
mod reservation;
pub(crate) mod status;
mod template;
mod template_version;
#[cfg(test)]
mod wire_tests;

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{Filter, Tag};

pub use discovery::Ec2Discovery;
pub use fleet::Ec2Fleet;
pub use market::Ec2Market;
pub use template::Ec2Templates;

/// Things whose `name` is one of `values`.
fn filter(name: &str, values: impl IntoIterator<Item = impl ToString>) -> Filter {
    let values = values.into_iter().map(|value| value.to_string()).collect();
    Filter::builder().name(name).set_values(Some(values)).build()
}

/// Things that carry all of `tags`; the value `*` asks only for the key.
fn tag_filters(tags: &BTreeMap<String, String>) -> Vec<Filter> {
    tags.iter()
        .map(|(key, value)| match value.as_str() {
            "*" => filter("tag-key", [key]),
            value => filter(&format!("tag:{key}"), [value]),
        })
        .collect()
}

fn to_tags(tags: &BTreeMap<String, String>) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

/// A filter as text, for tests: `name=value,value`.
#[cfg(test)]
fn text_of(filter: &Filter) -> String {
    format!("{}={}", filter.name().unwrap_or_default(), filter.values().join(","))
}
