//! Queries for images, and images as EC2 describes them.
//!
//! Karpenter: `pkg/providers/amifamily/ami.go`.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::{self, ArchitectureValues, Filter};
use jiff::Timestamp;
use model::{ImageId, Requirements, labels, limits::requests, node_class::Image};

use super::{filter, tag_filters};

/// One DescribeImages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    pub(super) filters: Vec<Filter>,
    /// Empty asks for whatever the account may start.
    pub(super) owners: Vec<String>,
}

impl Query {
    fn new(mut filters: Vec<Filter>, owners: Vec<String>) -> Self {
        filters.push(filter("state", ["available"]));
        Self { filters, owners }
    }

    /// The images called `ids`, wherever they come from.
    pub(super) fn by_id(ids: &BTreeSet<ImageId>) -> Vec<Self> {
        let ids: Vec<&ImageId> = ids.iter().collect();
        let chunks = ids.chunks(requests::FILTER_VALUES_MAX.into());
        chunks.map(|ids| Self::new(vec![filter("image-id", ids)], Vec::new())).collect()
    }

    /// The images with this name, owner and tags. By name alone, only the account's own and
    /// Amazon's: anybody may give an image any name.
    pub(super) fn search(
        name: Option<&str>,
        owner: Option<&str>,
        tags: &BTreeMap<String, String>,
    ) -> Self {
        let mut filters: Vec<Filter> =
            name.map(|name| filter("name", [name])).into_iter().collect();
        filters.extend(tag_filters(tags));
        let owners = match (owner, name) {
            (Some(owner), _) => vec![owner.to_owned()],
            (None, Some(_)) => vec!["self".to_owned(), "amazon".to_owned()],
            (None, None) => Vec::new(),
        };
        Self::new(filters, owners)
    }
}

/// The image that EC2 describes; `None` for architectures that no node has.
pub(super) fn from_image(image: &types::Image) -> Result<Option<Image>, String> {
    let arch = match image.architecture() {
        Some(ArchitectureValues::X8664) => "amd64",
        Some(ArchitectureValues::Arm64) => "arm64",
        _ => return Ok(None),
    };
    let id = ImageId::new(image.image_id().unwrap_or_default()).map_err(|e| e.to_string())?;
    let time = |text: Option<&str>| text.and_then(|text| text.parse::<Timestamp>().ok());
    Ok(Some(Image {
        id,
        name: image.name().unwrap_or_default().to_owned(),
        created_at: time(image.creation_date()),
        deprecated_at: time(image.deprecation_time()),
        requirements: Requirements::of_labels([(labels::ARCH, arch)]),
    }))
}

/// Newest first; images of the same moment by id, then by what they are for.
pub(super) fn newest_first(images: &mut Vec<Image>) {
    images.sort_by(|a, b| {
        b.created_at
            .cmp(&a.created_at)
            .then_with(|| a.id.cmp(&b.id))
            .then_with(|| a.requirements.cmp(&b.requirements))
    });
    images.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ec2::text_of;

    #[track_caller]
    fn check(query: &Query, expected: &str) {
        let filters: Vec<String> = query.filters.iter().map(text_of).collect();
        assert_eq!(format!("{} | {}", filters.join(" "), query.owners.join(" ")), expected);
    }

    #[test]
    fn ids_are_asked_for_together_for_all_owners() {
        let ids = ["ami-2", "ami-1"].map(|id| ImageId::new(id).unwrap()).into();
        let queries = Query::by_id(&ids);
        assert_eq!(queries.len(), 1);
        check(&queries[0], "image-id=ami-1,ami-2 state=available | ");
    }

    #[test]
    fn a_name_alone_is_looked_for_among_trusted_owners() {
        let tags = BTreeMap::from([("team".to_owned(), "*".to_owned())]);
        check(
            &Query::search(Some("my-*"), None, &tags),
            "name=my-* tag-key=team state=available | self amazon",
        );
        check(
            &Query::search(Some("my-*"), Some("123456789012"), &BTreeMap::new()),
            "name=my-* state=available | 123456789012",
        );
        let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        check(&Query::search(None, None, &tags), "tag:team=a state=available | ");
    }

    fn described(id: &str, created: &str) -> Image {
        let image = types::Image::builder()
            .image_id(id)
            .name(id)
            .architecture(ArchitectureValues::Arm64)
            .creation_date(created)
            .build();
        from_image(&image).unwrap().unwrap()
    }

    #[test]
    fn the_newest_image_goes_first_and_one_without_a_date_last() {
        let mut images = vec![
            described("ami-1", ""),
            described("ami-3", "2026-01-01T00:00:00.000Z"),
            described("ami-2", "2026-01-01T00:00:00.000Z"),
            described("ami-4", "2026-02-01T00:00:00.000Z"),
            described("ami-4", "2026-02-01T00:00:00.000Z"),
        ];
        newest_first(&mut images);
        let ids: Vec<&str> = images.iter().map(|image| image.id.as_str()).collect();
        assert_eq!(ids, ["ami-4", "ami-2", "ami-3", "ami-1"]);
    }

    #[test]
    fn an_image_for_another_processor_is_left_out() {
        let image_builder = types::Image::builder().image_id("ami-1");
        let image = image_builder.architecture(ArchitectureValues::I386).build();
        assert_eq!(from_image(&image), Ok(None));
    }
}
