//! Taints and tolerations.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/>

use std::fmt;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintEffect {
    /// They are not scheduled.
    NoSchedule,
    /// They are scheduled elsewhere if there is room.
    PreferNoSchedule,
    /// They are not scheduled and, if running, evicted.
    NoExecute,
}

impl TaintEffect {
    /// The effect called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// The key, a qualified name.
    pub key: String,
    /// The value; often empty.
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

impl fmt::Display for Taint {
    /// `key=value:Effect`, without `=` when the value is empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        write!(f, ":{}", self.effect.as_str())
    }
}

/// How a toleration compares values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TolerationOperator {
    /// Key and value must be the taint's.
    #[default]
    Equal,
    /// Only the key must be the taint's; without a key, every taint is tolerated.
    Exists,
    /// The taint's value must be a number above this one.
    Gt,
    /// The taint's value must be a number below this one.
    Lt,
}

/// A toleration of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The taint's key; empty means every key, and only goes with `Exists`.
    pub key: String,
    /// How values compare.
    pub operator: TolerationOperator,
    /// The taint's value for `Equal`.
    pub value: String,
    /// The taint's effect; `None` means every effect.
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    /// Whether it tolerates `taint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        let key = if self.key.is_empty() {
            self.operator == TolerationOperator::Exists
        } else {
            self.key == taint.key
        };
        let value = match self.operator {
            TolerationOperator::Exists => true,
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Gt => self.compares(taint, |taint, own| own < taint),
            TolerationOperator::Lt => self.compares(taint, |taint, own| taint < own),
        };
        effect && key && value
    }

    /// Whether both values are numbers, and how they compare.
    ///
    /// Kubernetes: `pkg/apis/core/v1/helper`, `compareNumericValues`.
    fn compares(&self, taint: &Taint, holds: impl Fn(i64, i64) -> bool) -> bool {
        match (number(&taint.value), number(&self.value)) {
            (Some(taint), Some(own)) => holds(taint, own),
            _ => false,
        }
    }
}

/// A whole number of 64 bits as Kubernetes takes it: without a sign of plus, and no zeros before it.
pub fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_canonical = digits == "0" && digits == text || !digits.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
}

/// The taints that none of `tolerations` tolerates. Soft taints (PreferNoSchedule) count like the
/// others: a pod that has to go there is given a toleration first.
pub fn untolerated<'a>(
    taints: impl IntoIterator<Item = &'a Taint>,
    tolerations: &[Toleration],
) -> Vec<&'a Taint> {
    taints
        .into_iter()
        .filter(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
        .collect()
}

/// Whether `taint` disappears by itself while a node starts.
///
/// Karpenter: `pkg/scheduling/taints.go`, `KnownEphemeralTaints` and the `readiness.k8s.io/` prefix.
pub fn is_ephemeral(taint: &Taint) -> bool {
    let exact = matches!(
        (taint.key.as_str(), taint.effect),
        ("node.kubernetes.io/not-ready", TaintEffect::NoSchedule | TaintEffect::NoExecute)
            | (
                "node.kubernetes.io/unreachable" | "node.cloudprovider.kubernetes.io/uninitialized",
                TaintEffect::NoSchedule
            )
            | (crate::labels::UNREGISTERED_TAINT, TaintEffect::NoExecute)
    );
    exact || taint.key.starts_with("readiness.k8s.io/")
}
