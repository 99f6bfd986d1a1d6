//! One requirement: a set of values that a label may have.
//!
//! Karpenter: `pkg/scheduling/requirement.go`.

use std::{fmt, sync::Arc};

use crate::{LabelKey, Values, id, labels, words};

/// How a requirement was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values; absence is fine.
    NotIn,
    /// Any value.
    Exists,
    /// No value: the label must be absent.
    DoesNotExist,
    /// An integer above the one value.
    Gt,
    /// An integer below the one value.
    Lt,
    /// An integer of at least the one value.
    Gte,
    /// An integer of at most the one value.
    Lte,
}

impl Operator {
    /// The operator called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            "Gte" => Self::Gte,
            "Lte" => Self::Lte,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
            Self::Gte => "Gte",
            Self::Lte => "Lte",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value of a label.
pub type Value = Arc<str>;

/// A set of values for one label: listed ones, or all but the listed ones, within bounds.
///
/// A concrete set (`is_complement` false) never has bounds: they were applied to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    key: LabelKey,
    is_complement: bool,
    /// Shared: claims of one plan list the same hundreds of instance types.
    values: Values,
    at_least: Option<i64>,
    at_most: Option<i64>,
    min_values: Option<u32>,
}

/// Why operator and values make no requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequirement {
    /// The key is empty.
    #[error("the key must not be empty")]
    Key,
    /// Gt, Lt, Gte or Lte without exactly one non-negative integer.
    #[error(
        "operator {operator} on `{key}` takes exactly one non-negative integer{unit}, not {values:?}",
        unit = if labels::is_in_mebibytes(key) { " in MiB" } else { "" }
    )]
    Integer {
        /// The label.
        key: String,
        /// The operator.
        operator: Operator,
        /// The values as given.
        values: Vec<String>,
    },
}

impl Requirement {
    /// What `operator` with `values` asks of the label `key`, whose aliases become canonical.
    ///
    /// `In` without values is the empty set, the same as `DoesNotExist`.
    pub fn new<'a>(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidRequirement> {
        let canonical = labels::canonical(key);
        let label = LabelKey::new(canonical).map_err(|_| InvalidRequirement::Key)?;
        let given: Vec<&str> = values.into_iter().collect();
        let values: Values = given.iter().copied().map(Value::from).collect();
        let bound = || {
            let number = match given.as_slice() {
                [text] => parse_integer(text).filter(|number| *number >= 0),
                _ => None,
            };
            number.ok_or_else(|| InvalidRequirement::Integer {
                key: canonical.to_owned(),
                operator,
                values: given.iter().map(ToString::to_string).collect(),
            })
        };
        Ok(match operator {
            Operator::In => Self::listed(label, values),
            Operator::DoesNotExist => Self::listed(label, Values::default()),
            Operator::NotIn => Self::excluding(label, values),
            Operator::Exists => Self::excluding(label, Values::default()),
            Operator::Gt => match bound()?.checked_add(1) {
                Some(least) => Self::bounded(label, Some(least), None),
                None => Self::listed(label, Values::default()),
            },
            Operator::Lt => Self::bounded(label, None, Some(bound()? - 1)),
            Operator::Gte => Self::bounded(label, Some(bound()?), None),
            Operator::Lte => Self::bounded(label, None, Some(bound()?)),
        })
    }

    /// The label must have exactly `value`.
    pub fn of_label(key: &str, value: &str) -> Result<Self, InvalidRequirement> {
        Self::new(key, Operator::In, [value])
    }

    /// One of `values`.
    pub fn listed(key: LabelKey, values: Values) -> Self {
        Self::set(key, false, values)
    }

    /// Anything but `values`.
    pub fn excluding(key: LabelKey, values: Values) -> Self {
        Self::set(key, true, values)
    }

    fn set(key: LabelKey, is_complement: bool, values: Values) -> Self {
        Self { key, is_complement, values, at_least: None, at_most: None, min_values: None }
    }

    fn bounded(key: LabelKey, at_least: Option<i64>, at_most: Option<i64>) -> Self {
        Self { at_least, at_most, ..Self::excluding(key, Values::default()) }
    }

    /// A requirement with `minValues`: this number of different values must be left among the instance types.
    #[must_use]
    pub fn with_min_values(mut self, min_values: Option<u32>) -> Self {
        self.min_values = min_values;
        self
    }

    /// The label.
    pub fn key(&self) -> &LabelKey {
        &self.key
    }

    /// Whether the set is everything but [`Requirement::values`].
    pub fn is_complement(&self) -> bool {
        self.is_complement
    }

    /// The listed values, or the excluded ones of a complement.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The least integer of a bounded set.
    pub fn at_least(&self) -> Option<i64> {
        self.at_least
    }

    /// The largest integer of a bounded set.
    pub fn at_most(&self) -> Option<i64> {
        self.at_most
    }

    /// `minValues`.
    pub fn min_values(&self) -> Option<u32> {
        self.min_values
    }

    /// The only value that is left, if the set is one listed value.
    pub fn single_value(&self) -> Option<&Value> {
        match (self.is_complement, self.values.len()) {
            (false, 1) => self.values.first(),
            _ => None,
        }
    }

    /// The operator that the set amounts to: bounds count as `Exists`.
    pub fn operator(&self) -> Operator {
        match (self.is_complement, self.values.is_empty()) {
            (true, true) => Operator::Exists,
            (true, false) => Operator::NotIn,
            (false, true) => Operator::DoesNotExist,
            (false, false) => Operator::In,
        }
    }

    /// How many values it has; of a complement, the largest signed integer less the exclusions,
    /// whatever its bounds, as in Karpenter.
    pub fn size(&self) -> u64 {
        let listed = u64::try_from(self.values.len()).unwrap_or(u64::MAX);
        if self.is_complement { i64::MAX.unsigned_abs().saturating_sub(listed) } else { listed }
    }

    /// Whether a node can satisfy it: by lacking the label, or with a key and a value that Kubernetes
    /// takes as a label's. The API server lets other values pass in node affinity, because nothing
    /// but a comparison becomes of them there.
    pub fn can_be_satisfied(&self) -> bool {
        let has_value = || self.is_complement || self.label_values().next().is_some();
        self.allows_absence() || (self.has_label_key() && has_value())
    }

    /// Whether both have a value that `other` lists and that a label can have.
    pub(crate) fn takes_value_of(&self, other: &Self) -> bool {
        !other.is_complement && other.label_values().any(|v| self.has(v) && other.has(v))
    }

    fn has_label_key(&self) -> bool {
        id::is_qualified_name(self.key.as_str())
    }

    /// The values of the set that a label can have; not of a complement.
    fn label_values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(|value| id::is_label_value(value))
    }

    /// The set without listed values that no label can have. A complement has no others.
    #[must_use]
    pub fn with_label_values_only(&self) -> Self {
        if self.is_complement || self.label_values().count() == self.values.len() {
            return self.clone();
        }
        Self { values: self.label_values().map(Arc::clone).collect(), ..self.clone() }
    }

    /// A value of the set, for a label that must have one: the first that is listed and that a label
    /// can have, or the least integer from 0 on that neither bounds nor exclusions forbid. `None`
    /// when there is none, or when no label can have the key.
    ///
    /// Karpenter takes an arbitrary member, which may be one that is excluded or that the API server
    /// refuses when the NodeClaim is created.
    pub fn any_value(&self) -> Option<Value> {
        if !self.has_label_key() {
            return None;
        }
        if !self.is_complement {
            return self.label_values().next().map(Arc::clone);
        }
        let mut number = self.at_least.unwrap_or(0).max(0);
        while self.at_most.is_none_or(|most| number <= most) {
            let text = number.to_string();
            if !self.values.contains(text.as_str()) {
                return Some(Value::from(text));
            }
            number = number.checked_add(1)?;
        }
        None
    }

    /// Whether absence of the label satisfies it.
    pub fn allows_absence(&self) -> bool {
        matches!(self.operator(), Operator::NotIn | Operator::DoesNotExist)
    }

    /// Whether `value` is in the set. Under bounds a value that is no integer never is.
    pub fn has(&self, value: &str) -> bool {
        self.values.contains(value) != self.is_complement
            && within(value, self.at_least, self.at_most)
    }

    /// The set of values in both; the larger `minValues` governs. Keys must be the same.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let at_least = self.at_least.max(other.at_least);
        let at_most = smaller(self.at_most, other.at_most);
        let min_values = self.min_values.max(other.min_values);
        let key = self.key.clone();
        if contradict(at_least, at_most) {
            return Self::listed(key, Values::default()).with_min_values(min_values);
        }
        let is_complement = self.is_complement && other.is_complement;
        let fits = |value: &&Value| within(value, at_least, at_most);
        let (these, others) = (&self.values, &other.values);
        let values: Values = match (self.is_complement, other.is_complement) {
            (true, true) => these.iter().chain(others).filter(fits).map(Arc::clone).collect(),
            (true, false) => kept(others, |value| fits(&value) && !these.contains(value)),
            (false, true) => kept(these, |value| fits(&value) && !others.contains(value)),
            (false, false) => kept(these, |value| fits(&value) && others.contains(value)),
        };
        let bounds = if is_complement { (at_least, at_most) } else { (None, None) };
        let set = Self::set(key, is_complement, values);
        Self { at_least: bounds.0, at_most: bounds.1, min_values, ..set }
    }

    /// Whether a value is in both sets. Two complements always share one; an empty listed set
    /// shares nothing, not even with another empty one.
    pub fn has_intersection(&self, other: &Self) -> bool {
        let at_least = self.at_least.max(other.at_least);
        let at_most = smaller(self.at_most, other.at_most);
        if contradict(at_least, at_most) {
            return false;
        }
        let fits = |value: &Value| within(value, at_least, at_most);
        match (self.is_complement, other.is_complement) {
            (true, true) => true,
            (true, false) => other.values.iter().any(|v| fits(v) && !self.values.contains(v)),
            (false, true) => self.values.iter().any(|v| fits(v) && !other.values.contains(v)),
            (false, false) => self.values.iter().any(|v| fits(v) && other.values.contains(v)),
        }
    }

    /// The set as entries of a NodeClaim's `requirements`: operator and sorted values. Two bounds
    /// give two entries; exclusions beside a bound are lost, as in Karpenter. `minValues` belongs to
    /// each of them.
    ///
    /// Below 0 (`Lt 0`) there is no integer that a label could have and no entry that the API would
    /// take, so such an entry does not read back. What must read back is stored in full instead.
    pub fn entries(&self) -> Vec<(Operator, Vec<String>)> {
        let number = |n: i64| vec![n.to_string()];
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => {
                vec![(Operator::Gte, number(least)), (Operator::Lte, number(most))]
            }
            (Some(least), None) => vec![(Operator::Gte, number(least))],
            (None, Some(most)) => vec![(Operator::Lte, number(most))],
            (None, None) => {
                vec![(self.operator(), self.values.iter().map(ToString::to_string).collect())]
            }
        }
    }
}

impl fmt::Display for Requirement {
    /// `key In [a b]`: at most five values, an empty one as `""`, then how many others; then bounds and `minValues`. Bounds are written as
    /// `Gt` and `Lt`, whichever operator made them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [
            self.at_least.map(|least| match least.checked_sub(1).filter(|below| *below >= 0) {
                Some(below) => (Operator::Gt, below),
                None => (Operator::Gte, least),
            }),
            self.at_most.map(|most| match most.checked_add(1) {
                Some(above) => (Operator::Lt, above),
                None => (Operator::Lte, most),
            }),
        ];
        self.key.fmt(f)?;
        // `Exists` says nothing beside a bound.
        if bounds == [None, None] || !self.values.is_empty() {
            write!(f, " {}", self.operator())?;
        }
        if !self.values.is_empty() {
            let values = self.values.iter().take(5).map(|value| &**value);
            let values: Vec<&str> =
                values.map(|value| if value.is_empty() { "\"\"" } else { value }).collect();
            write!(f, " [{}", values.join(" "))?;
            match self.values.len().saturating_sub(5) {
                0 => f.write_str("]")?,
                others => write!(f, " and {}]", words::counted(others, "other"))?,
            }
        }
        for (operator, number) in bounds.into_iter().flatten() {
            write!(f, " {operator} {number}")?;
        }
        if let Some(min_values) = self.min_values {
            write!(f, " minValues {min_values}")?;
        }
        Ok(())
    }
}

/// Go's `strconv.Atoi`: an optional sign and digits.
fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// The values that `keeps` keeps; all of them are the very same list.
fn kept(values: &Values, keeps: impl Fn(&Value) -> bool) -> Values {
    if values.iter().all(&keeps) {
        return values.clone();
    }
    values.iter().filter(|value| keeps(value)).map(Arc::clone).collect()
}

fn within(value: &str, at_least: Option<i64>, at_most: Option<i64>) -> bool {
    if at_least.is_none() && at_most.is_none() {
        return true;
    }
    parse_integer(value).is_some_and(|number| {
        at_least.is_none_or(|least| least <= number) && at_most.is_none_or(|most| number <= most)
    })
}

fn contradict(at_least: Option<i64>, at_most: Option<i64>) -> bool {
    at_least.zip(at_most).is_some_and(|(least, most)| least > most)
}

fn smaller(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (number, None) | (None, number) => number,
    }
}
