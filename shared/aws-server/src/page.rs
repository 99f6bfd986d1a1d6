//! Lists in pages: `MaxResults` and `NextToken`, or what services beside EC2 call them.

use std::ops::RangeInclusive;

use simulator::AwsError;

use crate::{
    parameters::{Parameters, invalid, refusal},
    xml::{Element, text},
};

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    start: usize,
    size: usize,
}

const TOKEN: &str = "page-from-";
/// Items of a page of IAM or EKS.
const USUAL: usize = 100;

impl Page {
    /// Takes the page that is asked for. `sizes` are those that EC2 takes; without one, the largest
    /// is meant. `largest` is the AWS server's own limit: EC2 may give less than it is asked for.
    pub(crate) fn take(
        parameters: &mut Parameters,
        sizes: RangeInclusive<usize>,
        largest: usize,
    ) -> Result<Self, AwsError> {
        let size = parameters.parsed::<usize>("MaxResults")?.unwrap_or_else(|| *sizes.end());
        if !sizes.contains(&size) {
            let text = format!(
                "Value ( {size} ) for parameter maxResults is invalid. Expecting a value between \
                 {} and {}.",
                sizes.start(),
                sizes.end()
            );
            return Err(refusal("InvalidParameterValue", text));
        }
        let start = start(parameters, "NextToken", "nextToken")?;
        Ok(Self { start, size: size.min(largest).max(1) })
    }

    /// Takes the page that the request asks for: by default 100 items, as in IAM.
    ///
    /// <https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListAttachedRolePolicies.html>
    pub(crate) fn of_iam(parameters: &mut Parameters, largest: usize) -> Result<Self, AwsError> {
        Self::named(parameters, ("MaxItems", "Marker"), 1_000, largest)
    }

    /// Takes the page that the request asks for: by default 100 items, as in EKS.
    ///
    /// <https://docs.aws.amazon.com/eks/latest/APIReference/API_ListAccessEntries.html>
    pub(crate) fn of_eks(parameters: &mut Parameters, largest: usize) -> Result<Self, AwsError> {
        Self::named(parameters, ("maxResults", "nextToken"), 100, largest)
    }

    fn named(
        parameters: &mut Parameters,
        (size_name, token_name): (&str, &str),
        size_max: usize,
        largest: usize,
    ) -> Result<Self, AwsError> {
        let size = parameters.parsed::<usize>(size_name)?.unwrap_or(USUAL);
        if !(1..=size_max).contains(&size) {
            return Err(invalid(size_name, &size.to_string()));
        }
        let start = start(parameters, token_name, token_name)?;
        Ok(Self { start, size: size.min(largest).max(1) })
    }

    /// The part of `items`, and the token of the next part if there is one.
    pub(crate) fn part<T>(self, items: Vec<T>) -> (Vec<T>, Option<String>) {
        let end = self.start.saturating_add(self.size);
        let next = (end < items.len()).then(|| format!("{TOKEN}{end}"));
        (items.into_iter().skip(self.start).take(self.size).collect(), next)
    }

    /// The same, with the token as EC2 writes it.
    pub(crate) fn of<T>(self, items: Vec<T>) -> (Vec<T>, Option<Element>) {
        let (part, next) = self.part(items);
        (part, next.map(|next| text("nextToken", next)))
    }
}

/// Takes the token of a page: where it starts.
fn start(parameters: &mut Parameters, name: &str, called: &str) -> Result<usize, AwsError> {
    let Some(token) = parameters.text(name) else { return Ok(0) };
    let start = token.strip_prefix(TOKEN).and_then(|start| start.parse().ok());
    start.ok_or_else(|| invalid(called, &token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(body: &str, largest: usize) -> Result<Page, AwsError> {
        Page::take(&mut Parameters::parse(body.as_bytes()), 5..=1_000, largest)
    }

    #[test]
    fn every_item_is_on_one_page() {
        let mut numbers = Vec::new();
        let mut body = "MaxResults=5".to_owned();
        for _ in 0..3 {
            let (items, next) = page(&body, 1_000).unwrap().of((0..12).collect::<Vec<i32>>());
            numbers.push(items.len());
            let Some(next) = next.map(|next| next.to_string()) else { break };
            let token = next.trim_start_matches("<nextToken>").trim_end_matches("</nextToken>");
            body = format!("MaxResults=5&NextToken={token}");
        }
        assert_eq!(numbers, [5, 5, 2]);
    }

    #[test]
    fn a_page_may_be_smaller_than_was_asked_for() {
        let (items, next) = page("MaxResults=1000", 7).unwrap().of((0..8).collect::<Vec<i32>>());
        assert_eq!((items.len(), next.is_some()), (7, true));
    }

    #[test]
    fn sizes_and_tokens_of_ones_own_are_refused() {
        assert!(page("MaxResults=4", 9).unwrap_err().message.contains("between 5 and 1000"));
        assert_eq!(page("NextToken=abc", 9).unwrap_err().code, "InvalidParameterValue");
    }
}
