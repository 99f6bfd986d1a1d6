//! Patterns of texts: the regular expression that a definition holds, beside the check that does the
//! same here and says what is wrong in words.

use std::{collections::BTreeMap, sync::LazyLock};

use model::{
    CronSchedule, HourlyPrice, ImageId, InvalidSchedule, SecurityGroupId, SubnetId, duration, id,
    overlay::PriceChange, quantity::Quantity,
};

use crate::document::field::{Check, Field};

/// A pattern. The check may ask for more: half of Karpenter's expressions are not anchored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    /// The expression.
    pub(crate) expression: &'static str,
    /// Complains of a text that it does not match.
    check: Check,
}

const fn pattern(expression: &'static str, check: Check) -> Pattern {
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
    if text.len() != 12 || !is_digits(text) {
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

/// `prefix/name` or `name`, of labels and taints.
pub(crate) const QUALIFIED_NAME: Pattern = pattern(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
    |field| {
        let text = field.text().unwrap_or_default();
        if text.is_empty() && field.is_at("value") {
            field.complain_with("must not be empty", "leave `value` out");
        } else if text.is_empty() {
            field.complain("must not be empty");
        } else if !id::is_qualified_name(text) {
            field.complain(format!(
                "`{text}` is not a qualified name: it must be an optional DNS prefix and `/`, then \
                 at most 63 letters, digits, `-`, `_` and `.`"
            ));
        }
    },
);
/// A label's value; it may be empty.
pub(crate) const LABEL_VALUE: Pattern =
    pattern(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", |field| {
        let text = field.text().unwrap_or_default();
        if !id::is_label_value(text) {
            field.complain(not_a_label_value(text));
        }
    });
/// Groups such as `1h30m`.
pub(crate) const DURATION: Pattern = pattern(r"^([0-9]+(s|m|h))+$", |field| {
    field.parsed(duration::parse_groups);
    fits_go(field);
});
/// Groups such as `1h30m`, or `Never`.
pub(crate) const DURATION_OR_NEVER: Pattern = pattern(r"^(([0-9]+(s|m|h))+|Never)$", |field| {
    field.parsed(duration::parse_nillable);
    if field.text() != Some("Never") {
        fits_go(field);
    }
});
/// An API group.
pub(crate) const GROUP: Pattern = pattern("^[^/]*$", |field| {
    if field.text().is_some_and(|text| text.contains('/')) {
        field.complain_with("must not contain `/`", "write `karpenter.k8s.aws`");
    }
});
/// How many nodes a budget lets go.
pub(crate) const BUDGET_NODES: Pattern = pattern("^((100|[0-9]{1,2})%|[0-9]+)$", |field| {
    let text = field.text().unwrap_or_default();
    let (number, is_share) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
    let is_above_all = number.parse::<u32>().ok().is_none_or(|number| number > 100);
    if !is_digits(number) || is_share && is_above_all {
        field.complain(format!(
            "`{text}` is neither a count such as `5` nor a share such as `10%` of at most 100%"
        ));
    }
});
/// When a budget becomes active.
pub(crate) const SCHEDULE: Pattern = pattern(
    r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$",
    schedule,
);
/// For how long a budget is active: hours, then minutes, either of them or both; `0s` may follow.
pub(crate) const WINDOW: Pattern = pattern(r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$", |field| {
    let text = field.text().unwrap_or_default();
    let window = without_seconds(text);
    let units: String = window.chars().filter(|c| !c.is_ascii_digit()).collect();
    let is_window = matches!(units.as_str(), "h" | "m" | "hm");
    if !is_window || duration::parse_groups(window).is_err() {
        field.complain(format!("`{text}` is not a duration in hours and minutes such as `1h30m`"));
    } else {
        fits_go(field);
    }
});
/// A price in dollars.
pub(crate) const PRICE: Pattern = pattern(r"^\d+(\.\d+)?$", |field| {
    let text = field.text().unwrap_or_default();
    let is_price = match text.split_once('.') {
        Some((dollars, fraction)) => is_digits(dollars) && is_digits(fraction),
        None => is_digits(text),
    };
    if field.parsed(HourlyPrice::parse_dollars).is_some() && !is_price {
        field.complain(format!("`{text}` is not a price: it must be such as `0.05`"));
    }
});
/// What is added to a price.
pub(crate) const ADJUSTMENT: Pattern = pattern(
    r"^(([+-]{1}(\d*\.?\d+))|(\+{1}\d*\.?\d+%)|(^(-\d{1,2}(\.\d+)?%)$)|(-100%))$",
    |field| {
        let text = field.text().unwrap_or_default();
        if price_change(text).is_none() {
            field.complain(format!(
                "`{text}` is not a change of a price: it must be such as `+0.5`, `-2`, `+10%` \
                 or `-10%`, and no less than `-100%`"
            ));
        }
    },
);

/// Every pattern with a check, by its expression.
static CHECKS: LazyLock<BTreeMap<&str, Check>> = LazyLock::new(|| {
    let patterns = [
        SUBNET,
        SECURITY_GROUP,
        IMAGE,
        RESERVATION,
        PLACEMENT_GROUP,
        ACCOUNT,
        VOLUME_SIZE,
        QUALIFIED_NAME,
        LABEL_VALUE,
        DURATION,
        DURATION_OR_NEVER,
        GROUP,
        BUDGET_NODES,
        SCHEDULE,
        WINDOW,
        PRICE,
        ADJUSTMENT,
    ];
    patterns.into_iter().map(|pattern| (pattern.expression, pattern.check)).collect()
});

/// The unit that a number most likely has which the expression does not match for want of one.
pub(crate) fn unit(expression: &str) -> Option<&'static str> {
    let durations = [DURATION.expression, DURATION_OR_NEVER.expression];
    let is_duration = durations.contains(&expression).then_some("h");
    (expression == VOLUME_SIZE.expression).then_some("Gi").or(is_duration)
}

/// Complains of the text of `field` if it does not match `expression`.
pub(crate) fn check(field: &Field<'_>, expression: &str) {
    let check = CHECKS.get(expression);
    debug_assert!(check.is_some(), "a pattern of a schema is in no list: {expression}");
    if let Some(check) = check {
        check(field);
    }
}

/// That Karpenter can read a duration, of an object that people wrote: it reads no NodePool of the cluster
/// beside one whose duration is too long for it.
fn fits_go(field: &Field<'_>) {
    if let Err(error) = duration::parse_go(field.text().unwrap_or_default()) {
        field.complain_if_written(error.to_string());
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

/// Whether `text` is made of ASCII digits, at least one.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The largest volume by suffix.
const SIZES: [(&str, u64); 4] = [("Gi", 59_000), ("Ti", 58), ("G", 64_000), ("T", 64)];

fn volume_size(field: &Field<'_>) {
    let text = field.text().unwrap_or_default();
    let fits = |(suffix, most): &(&str, u64)| {
        let number = text.strip_suffix(suffix)?;
        let is_whole = is_digits(number) && !number.starts_with('0');
        is_whole.then(|| number.parse::<u64>().ok()).flatten().filter(|n| n <= most)
    };
    if SIZES.iter().find_map(fits).is_none() || Quantity::parse_unsigned(text).is_err() {
        field.complain(format!(
            "`{text}` is not a volume size: it must be a whole number of Gi (to 59000), Ti (to \
             58), G (to 64000) or T (to 64)"
        ));
    }
}

/// What is said of a `text` that no label can have.
pub(crate) fn not_a_label_value(text: &str) -> String {
    format!(
        "`{text}` is not a label value: at most 63 letters, digits, `-`, `_` and `.`, starting and \
         ending with a letter or digit"
    )
}

fn schedule(field: &Field<'_>) {
    let text = field.text().unwrap_or_default();
    match CronSchedule::parse(text) {
        Ok(_) => {}
        Err(InvalidSchedule { rule, cure }) if CronSchedule::is_stored(text) => {
            field.complain_closing(rule, cure);
        }
        Err(InvalidSchedule { rule, cure }) => field.complain_cured(rule, cure),
    }
}

/// A window without the `0s` that may end it.
pub(crate) fn without_seconds(text: &str) -> &str {
    let rest = text.strip_suffix("0s").filter(|rest| rest.ends_with(['h', 'm']));
    rest.unwrap_or(text)
}

/// Billionths in one.
const NANOS: i128 = 1_000_000_000;

/// `+1.5`, `-2`, `+10%`: a sign is required. A percentage takes off no more than all of it.
pub(crate) fn price_change(text: &str) -> Option<PriceChange> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let billionths =
        |text: &str| i64::try_from(HourlyPrice::parse_dollars(text).ok()?.nanos()).ok();
    let Some(percent) = rest.strip_suffix('%') else {
        return Some(PriceChange::Added(sign * billionths(rest)?));
    };
    let scaled = i64::try_from(i128::from(billionths(percent)?) / 100).ok()?;
    (sign > 0 || i128::from(scaled) <= NANOS).then_some(PriceChange::Scaled(sign * scaled))
}
