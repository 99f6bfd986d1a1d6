//! The secret that the paths of `wake` are made of.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;

use crate::ClusterName;

/// The environment variable that has the key, of functions and of `journeyman install`.
pub const WAKE_KEY_VARIABLE: &str = "JOURNEYMAN_WAKE_KEY";

/// Bytes of a key, at least.
const KEY_BYTES_MIN: usize = 32;
/// Digits of a path.
pub(super) const PATH_DIGITS: usize = 64;

/// The secret of a stack of which the path of its `wake` is made, a new one each day. Nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct WakeKey(String);

/// A key that everyone could guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key of at least {KEY_BYTES_MIN} bytes is required, such as one of `openssl rand -hex 32`"
)]
pub struct InvalidWakeKey;

impl WakeKey {
    /// The key `text`.
    pub fn new(text: &str) -> Result<Self, InvalidWakeKey> {
        if text.len() < KEY_BYTES_MIN { Err(InvalidWakeKey) } else { Ok(Self(text.to_owned())) }
    }

    /// The path by which the API server of `cluster` calls `wake` on the UTC day of `now`: hexadecimal digits.
    pub fn path(&self, cluster: &ClusterName, now: Timestamp) -> String {
        self.path_of(cluster, day(now))
    }

    /// The paths that `wake` takes at `now`: of today, and of the days before and after it. So a path is good from
    /// before the first clock says that it is its day until a day after the last one does.
    pub fn paths(&self, cluster: &ClusterName, now: Timestamp) -> [String; 3] {
        [-1, 0, 1].map(|days| self.path_of(cluster, day(now).saturating_add(days)))
    }

    /// HMAC-SHA256 of the cluster and the number of a day since 1970.
    fn path_of(&self, cluster: &ClusterName, day: i64) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("any key");
        mac.update(format!("{cluster} {day}").as_bytes());
        let digits =
            |byte: u8| [byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16));
        mac.finalize().into_bytes().into_iter().flat_map(digits).flatten().collect()
    }
}

impl fmt::Debug for WakeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WakeKey")
    }
}

/// The number of the UTC day of `time` since 1970.
fn day(time: Timestamp) -> i64 {
    time.as_second().div_euclid(24 * 60 * 60)
}
