//! Patterns of texts: the regular expression that a definition holds, beside the check that does the
//! same here and says what is wrong in words.

use std::{collections::BTreeMap, sync::LazyLock};

use model::{ImageId, SecurityGroupId, SubnetId, quantity::Quantity};

use crate::document::field::Field;

/// A pattern. The check may ask for more: half of Karpenter's expressions are not anchored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// The expression.
    pub(crate) expression: &'static str,
    /// Complains of a text that it does not match.
    check: fn(&Field<'_>),
}

const fn pattern(expression: &'static str, check: fn(&Field<'_>)) -> Pattern {
    Pattern { expression, check }
}

/// `id` of a subnet.
pub(crate) const SUBNET: Pattern = pattern("subnet-[0-9a-z]+", |field| {
    field.parsed(SubnetId::new);
});
/// `id` of a security group.
pub(crate) const SECURITY_GROUP: Pattern = pattern("sg-[0-9a-z]+", |field| {
    field.parsed(SecurityGroupId::new);
});
/// `id` of an image.
pub(crate) const IMAGE: Pattern = pattern("ami-[0-9a-z]+", |field| {
    field.parsed(ImageId::new);
});
/// `id` of a capacity reservation.
pub(crate) const RESERVATION: Pattern = pattern("^cr-[0-9a-z]+$", |field| identifier(field, "cr-"));
/// `id` of a placement group.
pub(crate) const PLACEMENT_GROUP: Pattern =
    pattern("^pg-[0-9a-z]+$", |field| identifier(field, "pg-"));
/// An account.
pub(crate) const ACCOUNT: Pattern = pattern("^[0-9]{12}$", |field| {
    let text = field.text().unwrap_or_default();
    if text.len() != 12 || !text.chars().all(|c| c.is_ascii_digit()) {
        field.complain(format!("`{text}` is not an account: it must have twelve digits"));
    }
});
/// The size of a volume.
// As Karpenter publishes it: 18, 19, 28, 29, 38, 39, 48 and 49 Ti are refused, and a suffix alone
// passes. Nothing depends on either.
pub(crate) const VOLUME_SIZE: Pattern = pattern(
    "^((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|[5][0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|[6][0-3][0-9]{3}|64000)G|([1-9]||[1-5][0-7]|58)Ti|([1-9]||[1-5][0-9]|6[0-3]|64)T)$",
    volume_size,
);

/// Every pattern with a check, by its expression.
static CHECKS: LazyLock<BTreeMap<&str, fn(&Field<'_>)>> = LazyLock::new(|| {
    let patterns =
        [SUBNET, SECURITY_GROUP, IMAGE, RESERVATION, PLACEMENT_GROUP, ACCOUNT, VOLUME_SIZE];
    patterns.into_iter().map(|pattern| (pattern.expression, pattern.check)).collect()
});

/// Complains of the text of `field` if it does not match `expression`.
pub(crate) fn check(field: &Field<'_>, expression: &str) {
    if let Some(check) = CHECKS.get(expression) {
        check(field);
    }
}

/// `prefix`, and then lower-case letters and digits.
fn identifier(field: &Field<'_>, prefix: &str) {
    let text = field.text().unwrap_or_default();
    let is_id = |rest: &str| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if !text.strip_prefix(prefix).is_some_and(is_id) {
        field.complain(format!(
            "`{text}` must be `{prefix}` followed by lower-case letters and digits"
        ));
    }
}

/// The largest volume by suffix.
const SIZES: [(&str, u64); 4] = [("Gi", 59_000), ("Ti", 58), ("G", 64_000), ("T", 64)];

fn volume_size(field: &Field<'_>) {
    let text = field.text().unwrap_or_default();
    let fits = |(suffix, most): &(&str, u64)| {
        let number = text.strip_suffix(suffix)?;
        let starts = number.starts_with(|c: char| c.is_ascii_digit() && c != '0');
        let is_whole = starts && number.chars().all(|c| c.is_ascii_digit());
        is_whole.then(|| number.parse::<u64>().ok()).flatten().filter(|n| n <= most)
    };
    if SIZES.iter().find_map(fits).is_none() || Quantity::parse_unsigned(text).is_err() {
        field.complain(format!(
            "`{text}` is not a volume size: it must be a whole number of Gi (to 59000), Ti (to \
             58), G (to 64000) or T (to 64)"
        ));
    }
}
