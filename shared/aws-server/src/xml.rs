//! Answers in XML: elements with a text or with children.

use std::fmt::{self, Display, Write as _};

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    name: &'static str,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(String),
    Children(Vec<Element>),
}

/// `<name>value</name>`
pub(crate) fn text(name: &'static str, value: impl Display) -> Element {
    Element { name, content: Content::Text(value.to_string()) }
}

/// `<name>…children…</name>`
pub(crate) fn node(name: &'static str, children: impl IntoIterator<Item = Element>) -> Element {
    Element { name, content: Content::Children(children.into_iter().collect()) }
}

/// `<name><item>…</item>…</name>`: a list as EC2 writes it.
pub(crate) fn list(name: &'static str, items: impl IntoIterator<Item = Vec<Element>>) -> Element {
    node(name, items.into_iter().map(|children| node("item", children)))
}

/// A list of tags as EC2 writes it.
pub(crate) fn tags<'a>(
    name: &'static str,
    tags: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Element {
    list(name, tags.into_iter().map(|(key, value)| vec![text("key", key), text("value", value)]))
}

/// The document whose root is `name` in `namespace`.
pub(crate) fn document(name: &str, namespace: &str, children: &[Element]) -> String {
    let mut document = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{name}");
    if !namespace.is_empty() {
        document.push_str(" xmlns=\"");
        document.push_str(namespace);
        document.push('"');
    }
    document.push('>');
    for child in children {
        // Writing to a string cannot fail.
        if write!(document, "{child}").is_err() {
            break;
        }
    }
    document.push_str("</");
    document.push_str(name);
    document.push('>');
    document
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.name)?;
        match &self.content {
            Content::Text(text) => f.write_str(&escaped(text))?,
            Content::Children(children) => {
                for child in children {
                    write!(f, "{child}")?;
                }
            }
        }
        write!(f, "</{}>", self.name)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_nest_and_texts_are_escaped() {
        let pairs = std::collections::BTreeMap::from([("a<b".to_owned(), "c&d".to_owned())]);
        let text = document("R", "urn:x", &[tags("tagSet", &pairs), list("none", [])]);
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<R xmlns=\"urn:x\"><tagSet><item>\
                        <key>a&lt;b</key><value>c&amp;d</value></item></tagSet><none></none></R>";
        assert_eq!(text, expected);
    }
}
