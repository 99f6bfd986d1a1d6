//! Reads facts.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    InstanceTypeName, Namespace, NodeName, NodePoolName, ObjectName, PodUid, Quantity, Requirement,
    Requirements,
    dynamic_resources::{
        AttributeBinding, AttributeValue, ClaimAllocation, ClaimConsumer, CounterSet, DeviceAsk,
        DeviceCapacity, DeviceClass, DeviceConstraint, DeviceCount, DeviceFacts, DeviceId,
        DeviceRequest, DeviceSelector, DeviceTemplates, NodeSelector, NodeSelectorTerm,
        RequestKind, RequestPolicy, ResourceClaim, ResourceClaimKey, ResourcePool, ResourceSlice,
        SliceAccess, SliceDevice, TemplateSlice, ValidAmounts,
    },
    labels,
};

type Words<'t> = std::iter::Peekable<std::str::SplitWhitespace<'t>>;

/// Facts of a text in the language above.
pub(crate) fn facts(text: &str) -> DeviceFacts {
    let mut facts = DeviceFacts::default();
    let mut templates: BTreeMap<(String, String), DeviceTemplates> = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        match kind {
            "class" => facts.classes.push(class(rest)),
            "initialized" => facts.initialized.extend(rest.split(' ').map(node)),
            "slice" | "counters" => facts.slices.push(slice(rest, kind == "counters")),
            "claim" => facts.claims.push(claim(rest)),
            "template" | "bind" => {
                let mut words = rest.split_whitespace().peekable();
                let key = (next(&mut words).to_owned(), next(&mut words).to_owned());
                let of_type = templates.entry(key).or_default();
                if kind == "bind" {
                    let attribute = next(&mut words).to_owned();
                    let devices = words.map(device_id).collect();
                    of_type.bindings.push(AttributeBinding { attribute, devices });
                } else {
                    of_type.slices.push(template(rest));
                }
            }
            _ => panic!("{line}"),
        }
    }
    for ((pool, name), own) in templates {
        let types = facts.templates.entry(NodePoolName::new(&pool).unwrap()).or_default();
        types.insert(InstanceTypeName::new(&name).unwrap(), Arc::new(own));
    }
    facts
}

pub(crate) fn claim_key(name: &str) -> ResourceClaimKey {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    let namespace = Namespace::new(namespace).unwrap();
    ResourceClaimKey { namespace, name: ObjectName::new(name).unwrap() }
}

/// `zone=a,b` or `LABEL=V,W`.
pub(crate) fn requirement(word: &str) -> Requirement {
    let (key, values) = word.split_once('=').unwrap_or_else(|| panic!("{word}"));
    let key = if key == "zone" { labels::ZONE } else { key };
    Requirement::new(key, model::Operator::In, values.split(',')).unwrap()
}

fn next<'t>(words: &mut Words<'t>) -> &'t str {
    words.next().expect("a word")
}

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn amount(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn device_id(text: &str) -> DeviceId {
    let parts: Vec<&str> = text.split('/').collect();
    let [driver, pool, device] = parts.as_slice() else { panic!("{text}") };
    DeviceId { driver: Arc::from(*driver), pool: Arc::from(*pool), device: Arc::from(*device) }
}

fn class(text: &str) -> DeviceClass {
    let (name, expressions) = text.split_once(" where ").unwrap_or((text, ""));
    DeviceClass { name: name.to_owned(), selectors: selectors(expressions) }
}

fn selectors(expressions: &str) -> Vec<DeviceSelector> {
    let each = expressions.split(" and ").filter(|expression| !expression.is_empty());
    each.map(|expression| match expression {
        "unknown-selector" => DeviceSelector::Unsupported,
        _ => DeviceSelector::Cel(expression.to_owned()),
    })
    .collect()
}

/// Of `SET.COUNTER=AMOUNT`.
fn counter(word: &str) -> (String, String, Quantity) {
    let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("{word}"));
    let (set, counter) = name.split_once('.').unwrap_or_else(|| panic!("{word}"));
    (set.to_owned(), counter.to_owned(), amount(value))
}

/// A set that is named again after another one is there twice.
fn counter_sets<'t>(words: impl Iterator<Item = &'t str>) -> Vec<CounterSet> {
    let mut sets: Vec<CounterSet> = Vec::new();
    for (name, counter, value) in words.map(counter) {
        if sets.last().is_none_or(|last| last.name != name) {
            sets.push(CounterSet { name, counters: BTreeMap::new() });
        }
        sets.last_mut().unwrap().counters.insert(counter, value);
    }
    sets
}

fn slice(text: &str, has_counters: bool) -> ResourceSlice {
    let (head, body) = text.split_once(':').unwrap_or((text, ""));
    let mut words = head.split_whitespace().peekable();
    let name = next(&mut words).to_owned();
    let (driver, pool) = next(&mut words).split_once('/').unwrap();
    let mut slice = ResourceSlice {
        name,
        owner: None,
        driver: Arc::from(driver),
        pool: ResourcePool { name: Arc::from(pool), generation: 1, slice_count: 1 },
        access: SliceAccess::AllNodes,
        devices: Vec::new(),
        shared_counters: Vec::new(),
    };
    for word in words {
        match word.split_once('=') {
            None if word == "all" => slice.access = SliceAccess::AllNodes,
            None if word == "per-device" => slice.access = SliceAccess::Unsupported,
            Some(("gen", number)) => slice.pool.generation = number.parse().unwrap(),
            Some(("of", number)) => slice.pool.slice_count = number.parse().unwrap(),
            Some(("owner", name)) => slice.owner = Some(node(name)),
            Some(("node", name)) => slice.access = SliceAccess::Node(node(name)),
            Some(_) => slice.access = SliceAccess::Selector(selector(word)),
            None => panic!("{word}"),
        }
    }
    if has_counters {
        slice.shared_counters = counter_sets(body.split_whitespace());
    } else {
        slice.devices = devices(body);
    }
    slice
}

/// Terms are parted by `|`.
fn selector(text: &str) -> NodeSelector {
    let term = |text: &str| match text.strip_prefix("name=") {
        Some(names) => {
            let nodes = names.split(',').map(node).collect();
            NodeSelectorTerm { requirements: Requirements::new(), nodes: Some(nodes) }
        }
        None => NodeSelectorTerm {
            requirements: [requirement(text)].into_iter().collect(),
            nodes: None,
        },
    };
    NodeSelector { terms: text.split('|').map(term).collect() }
}

fn template(text: &str) -> TemplateSlice {
    let (head, body) = text.split_once(':').unwrap();
    let mut words = head.split_whitespace().skip(2);
    let (driver, pool) = words.next().unwrap().split_once('/').unwrap();
    TemplateSlice {
        driver: Arc::from(driver),
        pool: Arc::from(pool),
        devices: devices(body),
        shared_counters: counter_sets(words),
    }
}

fn devices(text: &str) -> Vec<SliceDevice> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(some_devices).collect()
}

fn some_devices(text: &str) -> Vec<SliceDevice> {
    let mut words = text.split_whitespace().peekable();
    let name = next(&mut words);
    let mut device = SliceDevice::default();
    for word in words {
        if word == "shared" {
            device.allows_multiple_allocations = true;
        } else if let Some(consumed) = word.strip_prefix('-') {
            let (set, counter, value) = counter(consumed);
            device.consumes_counters.entry(set).or_default().insert(counter, value);
        } else if let Some((name, value)) = word.split_once('=').filter(|_| !word.contains(':')) {
            device.attributes.insert(name.to_owned(), attribute(value));
        } else {
            let (name, value) = word.split_once(':').unwrap_or_else(|| panic!("{word}"));
            device.capacity.insert(name.to_owned(), capacity(value));
        }
    }
    let Some((stem, range)) = name.split_once('[') else {
        return vec![SliceDevice { name: Arc::from(name), ..device }];
    };
    let (first, last) = range.trim_end_matches(']').split_once('-').unwrap();
    let numbers = first.parse::<u32>().unwrap()..=last.parse().unwrap();
    let named = |number| SliceDevice { name: format!("{stem}{number}").into(), ..device.clone() };
    numbers.map(named).collect()
}

fn attribute(text: &str) -> AttributeValue {
    let (mark, rest) = text.split_at(text.len().min(1));
    match mark {
        "#" => AttributeValue::Int(rest.parse().unwrap()),
        "?" => AttributeValue::Bool(rest.parse().unwrap()),
        "@" => AttributeValue::Version(rest.to_owned()),
        _ => AttributeValue::String(text.to_owned()),
    }
}

fn capacity(text: &str) -> DeviceCapacity {
    let mut parts = text.split('/');
    let value = amount(parts.next().unwrap());
    let rules: BTreeMap<&str, &str> = parts.map(|part| part.split_once('=').unwrap()).collect();
    let rule = |name: &str| rules.get(name).copied().map(amount);
    let values = rules.get("values").map(|list| list.split('|').map(amount).collect());
    let range =
        rule("min").map(|min| ValidAmounts::Range { min, max: rule("max"), step: rule("step") });
    let valid = values.map(ValidAmounts::Values).or(range);
    let policy = RequestPolicy { default: rule("default"), valid };
    DeviceCapacity { value, policy: (!rules.is_empty()).then_some(policy) }
}

fn claim(text: &str) -> ResourceClaim {
    let (head, body) = text.split_once(": ").unwrap_or_else(|| (text.trim_end_matches(':'), ""));
    let mut words = head.split_whitespace().peekable();
    let mut claim = ResourceClaim {
        key: claim_key(next(&mut words)),
        requests: Vec::new(),
        constraints: Vec::new(),
        allocation: None,
        reserved_for: Vec::new(),
    };
    let mut section = "";
    for word in words {
        match (section, word) {
            (_, "has" | "on" | "for") => {
                section = word;
                if word != "for" {
                    claim.allocation.get_or_insert_with(ClaimAllocation::default);
                }
            }
            ("has", word) => {
                let (id, consumed) = word.split_once('@').unwrap_or((word, ""));
                let shares = consumed.split(',').filter_map(|share| share.split_once('='));
                let shares: BTreeMap<String, Quantity> =
                    shares.map(|(name, value)| (name.to_owned(), amount(value))).collect();
                let shares = (!shares.is_empty()).then_some(shares);
                claim.allocation.as_mut().unwrap().devices.push((device_id(id), shares));
            }
            ("on", word) => claim.allocation.as_mut().unwrap().selector = Some(selector(word)),
            ("for", "other") => claim.reserved_for.push(ClaimConsumer::Other),
            ("for", pod) => {
                claim.reserved_for.push(ClaimConsumer::Pod(PodUid::new(pod).unwrap()));
            }
            _ => panic!("{text}"),
        }
    }
    for part in body.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(rest) = part.strip_prefix("same ") {
            let (attribute, requests) = rest.split_once(" of ").unwrap_or((rest, ""));
            let requests = requests.split_whitespace().map(str::to_owned).collect();
            let attribute = attribute.to_owned();
            claim.constraints.push(DeviceConstraint::MatchAttribute { attribute, requests });
        } else if let Some(kind) = part.strip_prefix("constraint ") {
            claim.constraints.push(DeviceConstraint::Unsupported(kind.to_owned()));
        } else {
            claim.requests.push(request(part));
        }
    }
    claim
}

fn request(text: &str) -> DeviceRequest {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let asks: Vec<&str> = rest.split(" or ").collect();
    let kind = match asks.as_slice() {
        [""] => RequestKind::Unsupported,
        [one] => RequestKind::Exactly(ask(one)),
        several => {
            let letters = ('a'..='z').map(String::from);
            RequestKind::FirstAvailable(letters.zip(several.iter().map(|text| ask(text))).collect())
        }
    };
    DeviceRequest { name: name.to_owned(), kind }
}

fn ask(text: &str) -> DeviceAsk {
    let (text, expressions) = text.split_once(" where ").unwrap_or((text, ""));
    let (text, shares) = text.split_once(" with ").unwrap_or((text, ""));
    let (count, class) = text.split_once(' ').unwrap_or_else(|| panic!("{text}"));
    let share = |share: &str| {
        let (name, value) = share.split_once('=').unwrap();
        (name.to_owned(), amount(value))
    };
    DeviceAsk {
        class: class.to_owned(),
        selectors: selectors(expressions),
        count: match count {
            "all" => DeviceCount::All,
            number => DeviceCount::Exact(number.parse().unwrap()),
        },
        capacity: shares.split_whitespace().map(share).collect(),
    }
}
