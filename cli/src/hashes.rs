//! Drift hashes of EC2NodeClasses, as far as the input or a certificate authority tells them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use api::objects::NodeClassManifest;
use model::{
    NodeClassName,
    static_hash::{NODE_CLASS, NodeClassHash, StoredHash},
};
use report::output::named;

/// EC2NodeClasses that a line names.
const NAMED: usize = 3;

/// Where a cluster's certificate authority is known from, in base64.
#[derive(Clone)]
pub(crate) enum Authority {
    /// An option, or the live cluster.
    Given(String),
    /// The current context of the kubeconfig, which can be another cluster.
    OfContext(OfContext),
    Unknown,
}

/// What a kubeconfig says of the cluster of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfContext {
    /// The context.
    pub(crate) context: String,
    /// The certificate authority in base64.
    pub(crate) bundle: String,
}

/// Annotations of an object.
pub(crate) type Annotations = BTreeMap<String, String>;

/// An EC2NodeClass to hash.
#[derive(Debug)]
pub(crate) struct ToHash<K> {
    pub(crate) name: K,
    /// `None` if its spec has no hash.
    pub(crate) of_spec: Option<NodeClassHash>,
    /// Those that store its hash. They are of the spec that a controller saw, which need not be this one.
    pub(crate) annotations: Annotations,
    /// Whether its status is about this spec's generation, so that the controller saw this spec.
    pub(crate) is_observed: bool,
}

impl From<&NodeClassManifest> for ToHash<NodeClassName> {
    fn from(read: &NodeClassManifest) -> Self {
        Self {
            name: read.class.name.clone(),
            of_spec: read.class.hash,
            annotations: read.hash_annotations.clone(),
            is_observed: read.is_observed,
        }
    }
}

/// The hashes of classes, by name.
pub(crate) struct ClassHashes<K> {
    /// The hashes of the specs, worked out or stored; a class without one has an unknown hash.
    pub(crate) known: BTreeMap<K, String>,
    /// The classes whose hash is the stored one.
    pub(crate) from_store: BTreeSet<K>,
    /// The context of the kubeconfig whose certificate authority made them.
    pub(crate) context: Option<String>,
    /// The context of the kubeconfig whose cluster the input seems not to be of.
    pub(crate) foreign: Option<String>,
    stored: BTreeMap<K, Annotations>,
}

impl<K: Ord + Clone> ClassHashes<K> {
    /// The hashes of `classes`. `claims` are the classes of NodeClaims with the NodeClaims' annotations.
    ///
    /// A kubeconfig's context can be of another cluster than the input. Its certificate authority counts if a hash that is
    /// stored in the input is made with it, or if none is stored. Without a certificate authority, the stored hash of a
    /// class whose controller saw the spec is the hash of the spec.
    pub(crate) fn of<'a>(
        authority: Authority,
        classes: Vec<ToHash<K>>,
        claims: impl IntoIterator<Item = (&'a K, &'a Annotations)>,
    ) -> Self
    where
        K: 'a,
    {
        let hashed = |bundle: &str| -> BTreeMap<K, String> {
            let whole = |class: &ToHash<K>| {
                Some((class.name.clone(), class.of_spec?.with_ca_bundle(bundle).to_string()))
            };
            classes.iter().filter_map(whole).collect()
        };
        let (mut context, mut foreign) = (None, None);
        let known = match authority {
            Authority::Unknown => BTreeMap::new(),
            Authority::Given(bundle) => hashed(&bundle),
            Authority::OfContext(OfContext { context: name, bundle }) => {
                let of_context = hashed(&bundle);
                let fits = |name: &K, annotations: &Annotations| {
                    Some(of_context.get(name)? == present(annotations)?)
                };
                let of_classes =
                    classes.iter().filter_map(|class| fits(&class.name, &class.annotations));
                let of_claims =
                    claims.into_iter().filter_map(|(name, annotations)| fits(name, annotations));
                let stored: BTreeSet<bool> = of_classes.chain(of_claims).collect();
                if stored.is_empty() || stored.contains(&true) {
                    context = Some(name);
                    of_context
                } else {
                    foreign = Some(name);
                    BTreeMap::new()
                }
            }
        };
        let is_unknown = known.is_empty() && foreign.is_none();
        let observed = classes.iter().filter(|class| is_unknown && class.is_observed);
        let observed = observed.filter_map(|class| {
            Some((class.name.clone(), present(&class.annotations)?.to_owned()))
        });
        let observed: BTreeMap<K, String> = observed.collect();
        let from_store = observed.keys().cloned().collect();
        let known = known.into_iter().chain(observed).collect();
        let stored = classes.into_iter().map(|class| (class.name, class.annotations)).collect();
        Self { known, from_store, context, foreign, stored }
    }

    /// Which hashes are known because the cluster stored them, and when they are not those of the specs; `None` if none is.
    pub(crate) fn of_store(&self) -> Option<String>
    where
        K: fmt::Display,
    {
        let names: Vec<String> = self.from_store.iter().map(ToString::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| {
            format!(
                "The hash of EC2NodeClass {} is the one that the cluster stored for this generation of its spec; if you \
                 edited the spec in a file, --ca-bundle works the hash out",
                named(&names, NAMED)
            )
        })
    }

    /// The hashes of the class `name` and of a NodeClaim with `annotations` if the hash of the class's spec is unknown
    /// and the one that is stored with the class is another than the NodeClaim's. Equal ones tell nothing: the spec can
    /// have changed since.
    ///
    /// Karpenter: the AWS provider's `pkg/cloudprovider/drift.go`, `areStaticFieldsDrifted`.
    pub(crate) fn stored_difference<'a>(
        &'a self,
        name: &K,
        annotations: &'a Annotations,
    ) -> Option<[StoredHash<'a>; 2]> {
        if self.known.contains_key(name) {
            return None;
        }
        let (of_class, of_claim) =
            (NODE_CLASS.of(self.stored.get(name)?)?, NODE_CLASS.of(annotations)?);
        (of_class.differs(of_claim) == Some(true)).then_some([of_class, of_claim])
    }
}

/// The hash among `annotations`, if it is made as hashes are made now.
fn present(annotations: &Annotations) -> Option<&str> {
    let stored = NODE_CLASS.of(annotations)?;
    (stored.version == NODE_CLASS.version).then_some(stored.hash)
}
