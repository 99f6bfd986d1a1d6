//! Static drift hashes: what a NodePool or an EC2NodeClass says of its nodes, as one number that
//! claims carry. Hashes of different versions say nothing about each other.
//!
//! Karpenter: `pkg/controllers/nodepool/hash` and the AWS provider's `pkg/controllers/nodeclass/hash`.

use std::collections::BTreeMap;

/// Whose hash it is: the annotations that hold it, and how it is made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticHash {
    /// The annotation with the hash.
    pub key: &'static str,
    /// The one that says how it was made.
    pub version_key: &'static str,
    /// How it is made now.
    pub version: &'static str,
}

/// That of a NodePool, on the pool and on its claims.
pub const NODE_POOL: StaticHash = StaticHash {
    key: "karpenter.sh/nodepool-hash",
    version_key: "karpenter.sh/nodepool-hash-version",
    version: "v3",
};

/// That of an EC2NodeClass, on the class and on the claims that name it.
pub const NODE_CLASS: StaticHash = StaticHash {
    key: "karpenter.k8s.aws/ec2nodeclass-hash",
    version_key: "karpenter.k8s.aws/ec2nodeclass-hash-version",
    version: "v6",
};

impl StaticHash {
    /// Both annotations of an object whose hash is `hash`.
    pub fn annotations(self, hash: &str) -> [(String, String); 2] {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        [pair(self.key, hash), pair(self.version_key, self.version)]
    }

    /// Whether a claim with `annotations` was launched from another spec than the one whose hash is
    /// `hash`. One without a hash of the present version is not said to be.
    pub fn differs(self, annotations: &BTreeMap<String, String>, hash: &str) -> bool {
        let present = StoredHash { version: self.version, hash };
        self.of(annotations).and_then(|stored| stored.differs(present)) == Some(true)
    }

    /// The hash among `annotations`; `None` without it or its version.
    pub fn of(self, annotations: &BTreeMap<String, String>) -> Option<StoredHash<'_>> {
        let text = |key: &str| annotations.get(key).map(String::as_str);
        Some(StoredHash { version: text(self.version_key)?, hash: text(self.key)? })
    }

    /// Writes both annotations of a claim anew if its hash is of another version, and says whether it
    /// was. Of a claim that has drifted the hash stays, so that it stays drifted.
    pub fn renew(
        self,
        annotations: &mut BTreeMap<String, String>,
        hash: &str,
        has_drifted: bool,
    ) -> bool {
        if self.is_present(annotations) {
            return false;
        }
        let kept = annotations.get(self.key).filter(|_| has_drifted).cloned();
        annotations.extend(self.annotations(kept.as_deref().unwrap_or(hash)));
        true
    }

    fn is_present(self, annotations: &BTreeMap<String, String>) -> bool {
        annotations.get(self.version_key).is_some_and(|version| version == self.version)
    }
}

/// A hash as it is stored with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredHash<'a> {
    /// The version of the rules that it was worked out by, such as `v6`.
    pub version: &'a str,
    /// The hash, in decimal.
    pub hash: &'a str,
}

impl StoredHash<'_> {
    /// Whether it is another hash than `other`; `None` if they are of two versions, which cannot be compared.
    pub fn differs(self, other: StoredHash<'_>) -> Option<bool> {
        (self.version == other.version).then_some(self.hash != other.hash)
    }
}

/// The part of an EC2NodeClass's hash that its spec decides. A cluster's certificate authority, which
/// nodes are given as well, makes it whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeClassHash(pub u64);

impl NodeClassHash {
    /// The hash in a cluster whose nodes are given `ca_bundle`: parts are a set, so that each is
    /// added by exclusive or.
    pub fn with_ca_bundle(self, ca_bundle: &str) -> u64 {
        self.0 ^ fnv(ca_bundle.bytes())
    }
}

/// FNV-1 with 64 bits: multiply, then xor.
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
    })
}
