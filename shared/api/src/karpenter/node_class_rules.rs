//! What a definition cannot say of an EC2NodeClass field by field.

use model::{
    labels,
    node_class::{ImageFamily, ImageFamily as Family},
};

use super::rule::Rule;
use crate::document::field::Field;

/// All of them.
pub(crate) const ALL: &[&[Rule]] = &[
    SPEC,
    TAGS,
    SUBNET_TERMS,
    SECURITY_GROUP_TERMS,
    RESERVATION_TERMS,
    PLACEMENT_GROUP,
    IMAGE_TERMS,
    ALIAS,
    SELECTED_TAGS,
    ROLE,
    INSTANCE_PROFILE,
    VOLUMES,
    VOLUME,
    INTERFACES,
    CONNECTIONS,
];

/// The whole `spec`.
pub(crate) const SPEC: &[Rule] = &[
    Rule::new(
        "(has(self.role) && !has(self.instanceProfile)) || (!has(self.role) && has(self.instanceProfile))",
        "must specify exactly one of ['role', 'instanceProfile']",
        |spec| match (spec.has("role"), spec.has("instanceProfile")) {
            (true, true) => spec.at("role").complain_with(
                "`role` and `instanceProfile` exclude each other",
                "keep `role` to have an instance profile made, or `instanceProfile` to bring one",
            ),
            (false, false) => {
                spec.at("role").complain("either `role` or `instanceProfile` is required");
            }
            _ => {}
        },
    ),
    Rule::made(families, |spec| {
        let (given, alias) = (spec.text_at("amiFamily"), alias_family(spec));
        if let (Some(given), Some(alias)) = (given, alias)
            && given != alias.as_str()
            && given != Family::Custom.as_str()
        {
            let rule = format!("must be `{}` as in the alias, or `Custom`", alias.as_str());
            spec.at("amiFamily").complain(rule);
        }
    }),
    Rule::new(
        "self.amiSelectorTerms.exists(x, has(x.alias)) ? true : has(self.amiFamily)",
        "must specify amiFamily if amiSelectorTerms does not contain an alias",
        |spec| {
            let terms = spec.at("amiSelectorTerms").list().unwrap_or_default();
            if !spec.has("amiFamily") && !terms.iter().any(|term| term.has("alias")) {
                let rule = "is required when no amiSelectorTerms has an alias";
                spec.at("amiFamily").complain(rule);
            }
        },
    ),
];

/// That `amiFamily` is the alias's, one expression for each family.
fn families() -> Vec<(String, String)> {
    let families = ImageFamily::ALL.into_iter().filter(|family| *family != Family::Custom);
    let texts = families.map(|family| {
        let name = family.as_str();
        let (alias, article) = (name.to_lowercase(), if name.starts_with('A') { "an" } else { "a" });
        (
            format!(
                "!has(self.amiFamily) || (self.amiSelectorTerms.exists(x, has(x.alias) && x.alias.find('^[^@]+') == '{alias}') ? (self.amiFamily == 'Custom' || self.amiFamily == '{name}') : true)"
            ),
            format!("if set, amiFamily must be '{name}' or 'Custom' when using {article} {name} alias"),
        )
    });
    texts.collect()
}

/// The family of the first alias.
fn alias_family(spec: &Field<'_>) -> Option<ImageFamily> {
    let terms = spec.at("amiSelectorTerms").list()?;
    let alias = terms.iter().find_map(|term| term.text_at("alias"))?;
    ImageFamily::parse_alias(alias.split('@').next()?)
}

/// `tags`.
pub(crate) const TAGS: &[Rule] = &[
    Rule::new("self.all(k, k != '')", "empty tag keys aren't supported", |tags| {
        for (key, value) in tags.entries().unwrap_or_default() {
            if key.is_empty() {
                tags.complain("must not have an empty key");
            } else if labels::is_launch_tag(key) {
                value.complain(format!("tag `{key}` is set by the launch and cannot be given"));
            }
        }
    }),
    Rule::and(
        "self.all(k, k !='eks:eks-cluster-name')",
        "tag contains a restricted tag matching eks:eks-cluster-name",
    ),
    Rule::and(
        "self.all(k, !k.startsWith('kubernetes.io/cluster') )",
        "tag contains a restricted tag matching kubernetes.io/cluster/",
    ),
    Rule::and(
        "self.all(k, k != 'karpenter.sh/nodepool')",
        "tag contains a restricted tag matching karpenter.sh/nodepool",
    ),
    Rule::and(
        "self.all(k, k !='karpenter.sh/nodeclaim')",
        "tag contains a restricted tag matching karpenter.sh/nodeclaim",
    ),
    Rule::and(
        "self.all(k, k !='karpenter.k8s.aws/ec2nodeclass')",
        "tag contains a restricted tag matching karpenter.k8s.aws/ec2nodeclass",
    ),
];

/// `subnetSelectorTerms`.
pub(crate) const SUBNET_TERMS: &[Rule] = &[
    Rule::new("self.size() != 0", "subnetSelectorTerms cannot be empty", has_terms),
    Rule::new(
        "self.all(x, has(x.tags) || has(x.id))",
        "expected at least one, got none, ['tags', 'id']",
        |terms| each(terms, |term| exactly_one(term, &["tags", "id"])),
    ),
    Rule::and(
        "!self.all(x, has(x.id) && has(x.tags))",
        "'id' is mutually exclusive, cannot be set with a combination of other fields in a subnet selector term",
    ),
];

/// `securityGroupSelectorTerms`.
pub(crate) const SECURITY_GROUP_TERMS: &[Rule] = &[
    Rule::new("self.size() != 0", "securityGroupSelectorTerms cannot be empty", has_terms),
    Rule::new(
        "self.all(x, has(x.tags) || has(x.id) || has(x.name))",
        "expected at least one, got none, ['tags', 'id', 'name']",
        |terms| each(terms, |term| exactly_one(term, &["tags", "id", "name"])),
    ),
    Rule::and(
        "!self.all(x, has(x.id) && (has(x.tags) || has(x.name)))",
        "'id' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
    ),
    Rule::and(
        "!self.all(x, has(x.name) && (has(x.tags) || has(x.id)))",
        "'name' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
    ),
];

/// `capacityReservationSelectorTerms`.
pub(crate) const RESERVATION_TERMS: &[Rule] = &[
    Rule::new(
        "self.all(x, has(x.tags) || has(x.id) || has(x.instanceMatchCriteria))",
        "expected at least one, got none, ['tags', 'id', 'instanceMatchCriteria']",
        |terms| {
            each(terms, |term| {
                at_least_one(term, &["tags", "id", "instanceMatchCriteria"], "ownerID");
                alone(term, "id", &["tags", "ownerID", "instanceMatchCriteria"]);
            });
        },
    ),
    Rule::new(
        "!self.all(x, has(x.id) && (has(x.tags) || has(x.ownerID) || has(x.instanceMatchCriteria)))",
        "'id' is mutually exclusive, cannot be set along with other fields in a capacity reservation selector term",
        // Of no term everything is true.
        |terms| {
            if terms.list().is_some_and(|items| items.is_empty()) {
                terms.complain("must have at least one entry, or be left out");
            }
        },
    ),
];

/// `placementGroupSelector`.
pub(crate) const PLACEMENT_GROUP: &[Rule] = &[
    Rule::new(
        "has(self.name) || has(self.id)",
        "expected at least one, got none, ['name', 'id']",
        |selector| exactly_one(selector, &["name", "id"]),
    ),
    Rule::and("!(has(self.name) && has(self.id))", "'name' and 'id' are mutually exclusive"),
];

/// `amiSelectorTerms`.
pub(crate) const IMAGE_TERMS: &[Rule] = &[
    Rule::new(
        "self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.alias) || has(x.ssmParameter))",
        "expected at least one, got none, ['tags', 'id', 'name', 'alias', 'ssmParameter']",
        |terms| {
            each(terms, |term| {
                at_least_one(term, &["alias", "id", "name", "tags", "ssmParameter"], "owner");
                alone(term, "alias", &["tags", "id", "name", "owner", "ssmParameter"]);
                alone(term, "id", &["tags", "name", "owner", "ssmParameter"]);
            });
        },
    ),
    Rule::and(
        "!self.exists(x, has(x.id) && (has(x.alias) || has(x.tags) || has(x.name) || has(x.owner)))",
        "'id' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",
    ),
    Rule::and(
        "!self.exists(x, has(x.alias) && (has(x.id) || has(x.tags) || has(x.name) || has(x.owner)))",
        "'alias' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",
    ),
    Rule::new(
        "!(self.exists(x, has(x.alias)) && self.size() != 1)",
        "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",
        |terms| {
            let items = terms.list().unwrap_or_default();
            let alias = items.iter().find(|term| term.has("alias"));
            if let (Some(alias), true) = (alias, items.len() > 1) {
                alias.complain("a term with `alias` must be the only one");
            }
        },
    ),
];

/// `alias` of a term of `amiSelectorTerms`: the family in lower case, the version `latest` or a build.
pub(crate) const ALIAS: &[Rule] = &[
    Rule::new(
        "self.matches('^[a-zA-Z0-9]+@.+$')",
        "'alias' is improperly formatted, must match the format 'family@version'",
        alias,
    ),
    Rule::and(
        "self.split('@')[0] in ['al2','al2023','bottlerocket','windows2019','windows2022','windows2025']",
        "family is not supported, must be one of the following: 'al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025'",
    ),
    Rule::and(
        "self.split('@')[0] in ['windows2019','windows2022','windows2025'] ? self.split('@')[1] == 'latest' : true",
        "windows families may only specify version 'latest'",
    ),
];

fn alias(field: &Field<'_>) {
    let text = field.text().unwrap_or_default();
    let Some((name, version)) = text.split_once('@').filter(|(_, version)| !version.is_empty())
    else {
        field.complain(format!("`{text}` must be a family and a version such as `al2023@latest`"));
        return;
    };
    let lower = name.to_ascii_lowercase();
    match ImageFamily::parse_alias(name) {
        Some(family) if family.is_windows() && version != "latest" => {
            field.complain(format!("`{name}` has only the version `latest`"));
        }
        Some(_) => {}
        None if ImageFamily::parse_alias(&lower).is_some() => field.complain_with(
            format!("`{text}`: the family must be in lower case"),
            format!("write `{lower}@{version}`"),
        ),
        None => field.complain(format!(
            "`{name}` is not one of `al2`, `al2023`, `bottlerocket`, `windows2019`, \
             `windows2022`, `windows2025`"
        )),
    }
}

/// `tags` of a term.
pub(crate) const SELECTED_TAGS: &[Rule] = &[Rule::new(
    "self.all(k, k != '' && self[k] != '')",
    "empty tag keys or values aren't supported",
    |tags| {
        let entries = tags.entries().unwrap_or_default();
        if entries.is_empty() {
            tags.complain("must not be empty");
        }
        for (key, value) in entries {
            if key.is_empty() {
                tags.complain("must not have an empty key");
            } else if value.text() == Some("") {
                value.complain_with("must not be empty", "write \"*\" for any value");
            }
        }
    },
)];

/// `role`.
pub(crate) const ROLE: &[Rule] = &[Rule::new("self != ''", "role cannot be empty", not_empty)];

/// `instanceProfile`.
pub(crate) const INSTANCE_PROFILE: &[Rule] =
    &[Rule::new("self != ''", "instanceProfile cannot be empty", not_empty)];

/// `blockDeviceMappings`.
pub(crate) const VOLUMES: &[Rule] = &[Rule::new(
    "self.filter(x, has(x.rootVolume)?x.rootVolume==true:false).size() <= 1",
    "must have only one blockDeviceMappings with rootVolume",
    |volumes| {
        let items = volumes.list().unwrap_or_default();
        let roots = items
            .iter()
            .filter(|item| item.has("rootVolume") && item.at("rootVolume").boolean() == Some(true));
        if roots.count() > 1 {
            volumes.complain("at most one entry may have `rootVolume: true`");
        }
    },
)];

/// `ebs` of a volume.
pub(crate) const VOLUME: &[Rule] = &[
    Rule::new(
        "has(self.snapshotID) || has(self.volumeSize)",
        "snapshotID or volumeSize must be defined",
        |volume| {
            if !volume.has("snapshotID") && !volume.has("volumeSize") {
                volume.complain("must have `snapshotID` or `volumeSize`");
            }
        },
    ),
    Rule::new(
        "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
        "snapshotID must be set when volumeInitializationRate is set",
        |volume| {
            let has_snapshot = volume.text_at("snapshotID").is_some_and(|id| !id.is_empty());
            if volume.has("volumeInitializationRate") && !has_snapshot {
                volume.at("volumeInitializationRate").complain("needs `snapshotID`");
            }
        },
    ),
];

/// `networkInterfaces`.
pub(crate) const INTERFACES: &[Rule] = &[
    Rule::new(
        "self.size() == 0 || self.exists(x, x.deviceIndex == 0 && x.networkCardIndex == 0 && x.interfaceType == 'interface')",
        "networkInterfaces must include a primary interface with interfaceType='interface'",
        |interfaces| {
            let places = places(interfaces);
            if !places.is_empty() && !places.contains(&(Some(0), Some(0), Some("interface"))) {
                interfaces.complain(
                    "must have an entry with networkCardIndex 0, deviceIndex 0 and interfaceType `interface`",
                );
            }
        },
    ),
    Rule::new(
        "self.all(x, self.filter(y, x.networkCardIndex == y.networkCardIndex && x.deviceIndex == y.deviceIndex).size() == 1 && (x.interfaceType != 'efa-only' || self.filter(y, x.networkCardIndex == y.networkCardIndex && y.interfaceType == 'efa-only').size() == 1))",
        "networkInterfaces must not have duplicate networkCardIndex and deviceIndex pairs, and can have at most one efa device per network card",
        |interfaces| {
            let (items, places) = (interfaces.list().unwrap_or_default(), places(interfaces));
            for (index, (item, place)) in items.iter().zip(&places).enumerate() {
                let (card, device, kind) = *place;
                let before = places.get(..index).unwrap_or_default();
                if before.iter().any(|other| (other.0, other.1) == (card, device)) {
                    item.complain(format!(
                        "networkCardIndex {} and deviceIndex {} stand there twice",
                        card.unwrap_or_default(),
                        device.unwrap_or_default()
                    ));
                } else if kind == Some("efa-only")
                    && before.iter().any(|other| (other.0, other.2) == (card, kind))
                {
                    let rule = "must have at most one `efa-only` interface on each network card";
                    interfaces.complain(rule);
                }
            }
        },
    ),
];

/// Network card, device and type of each interface.
fn places<'a>(interfaces: &Field<'a>) -> Vec<(Option<u32>, Option<u32>, Option<&'a str>)> {
    let index = |item: &Field<'a>, key| item.at(key).integer(0, i64::from(i32::MAX));
    let place = |item: &Field<'a>| {
        (index(item, "networkCardIndex"), index(item, "deviceIndex"), item.text_at("interfaceType"))
    };
    interfaces.list().iter().flatten().map(place).collect()
}

/// `connectionTracking`.
pub(crate) const CONNECTIONS: &[Rule] = &[Rule::new(
    "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
    "at least one of tcpEstablishedTimeout, udpStreamTimeout, or udpTimeout must be set",
    |timeouts| {
        let keys = ["tcpEstablishedTimeout", "udpStreamTimeout", "udpTimeout"];
        at_least_one(timeouts, &keys, "");
    },
)];

/// That a text is not empty.
pub(crate) fn not_empty(field: &Field<'_>) {
    field.text_not_empty();
}

fn has_terms(terms: &Field<'_>) {
    if terms.list().is_some_and(|items| items.is_empty()) {
        terms.complain("must have at least one entry");
    }
}

fn each(list: &Field<'_>, check: impl Fn(&Field<'_>)) {
    list.list().iter().flatten().for_each(check);
}

/// `a`, `b` and `c`, in backticks.
fn listed(keys: &[&str]) -> String {
    let names: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn exactly_one(map: &Field<'_>, keys: &[&str]) {
    if keys.iter().filter(|key| map.has(key)).count() != 1 {
        map.complain(format!("must have exactly one of {}", listed(keys)));
    }
}

/// That one of `keys` is there; `weak` does not count, and is named if it is all there is.
fn at_least_one(map: &Field<'_>, keys: &[&str], weak: &str) {
    if !keys.iter().any(|key| map.has(key)) {
        let rule = format!("must have at least one of {}", listed(keys));
        if map.has(weak) {
            map.complain(format!("{rule}; `{weak}` alone is not enough"));
        } else {
            map.complain(rule);
        }
    }
}

/// That none of `others` is there beside `key`.
fn alone(map: &Field<'_>, key: &str, others: &[&str]) {
    if map.has(key) && others.iter().any(|other| map.has(other)) {
        map.complain(format!("`{key}` excludes every other member of its term"));
    }
}
