//! Devices and claims to them, from lines.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    NodeName, Quantity, Requirements,
    dynamic_resources::{
        AttributeBinding, AttributeValue, ClaimConsumer, CounterSet, DeviceAsk, DeviceCapacity,
        DeviceClass, DeviceConstraint, DeviceCount, DeviceFacts, DeviceId, DeviceRequest,
        DeviceSelector, NodeSelector, NodeSelectorTerm, RequestKind, RequestPolicy, ResourceClaim,
        ResourceClaimKey, ResourcePool, ResourceSlice, SliceAccess, SliceDevice, TemplateSlice,
        ValidAmounts,
    },
};

use super::{
    text::{read_requirement, valid},
    words::{Read, first, pair, parsed},
};

/// What lines say of devices, one fact each:
///
/// ```text
/// class gpu [where EXPRESSION]
/// initialized node-a node-b
/// slice NAME DRIVER/POOL all|node=N|zone=A,B|LABEL=V|name=N|per-device [gen=G] [of=COUNT] [owner=N]: DEVICE; DEVICE
/// counters NAME DRIVER/POOL [gen=G] [of=COUNT] [owner=N]: SET.COUNTER=AMOUNT …
/// template NODEPOOL TYPE DRIVER/POOL [SET.COUNTER=AMOUNT …]: DEVICE; DEVICE
/// bind NODEPOOL TYPE ATTRIBUTE DRIVER/POOL/DEVICE …
/// claim NAME [has DEVICE[@CAPACITY=AMOUNT] …] [on zone=A|name=N] [for POD|other …]: REQUEST; REQUEST; same ATTRIBUTE [of REQUEST …]
/// ```
///
/// A device is `gpu-0` or `gpu-[0-3]`, then words: `model=t4`, `numa=#1`, `up=?true`, `driver=@1.2`, `memory:16Gi` (with
/// a policy: `memory:16Gi/default=1Gi/min=1Gi/step=1Gi/max=8Gi` or `/values=1Gi|2Gi`), `shared`, `-SET.COUNTER=2`.
/// A request is `NAME COUNT|all CLASS [with CAPACITY=AMOUNT …] [where EXPRESSION]`; ` or ` parts its alternatives, which
/// are called `a`, `b` and so on. ` and ` parts expressions.
///
/// # Panics
///
/// When a line is wrong.
#[must_use]
#[track_caller]
pub fn devices(text: &str) -> DeviceFacts {
    valid(read_devices(text))
}

/// Namespace `default` and `name`; or `namespace/name`.
///
/// # Panics
///
/// When `name` is none.
#[track_caller]
pub fn claim_key(name: &str) -> ResourceClaimKey {
    valid(read_claim_key(name))
}

fn read_devices(text: &str) -> Read<DeviceFacts> {
    let mut facts = DeviceFacts::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        read_line(&mut facts, line).map_err(|error| format!("`{line}`: {error}"))?;
    }
    Ok(facts)
}

fn read_line(facts: &mut DeviceFacts, line: &str) -> Read<()> {
    let (kind, rest) = first(line);
    match kind {
        "class" => facts.classes.push(class(rest)),
        "initialized" => {
            let nodes: Vec<NodeName> = each(rest.split_whitespace(), parsed)?;
            facts.initialized.extend(nodes);
        }
        "slice" | "counters" => facts.slices.push(slice(rest, kind == "counters")?),
        "claim" => facts.claims.push(claim(rest)?),
        "template" | "bind" => {
            let (pool, rest) = first(rest);
            let (instance_type, rest) = first(rest);
            let types = facts.templates.entry(parsed(pool)?).or_default();
            let of_type = Arc::make_mut(types.entry(parsed(instance_type)?).or_default());
            if kind == "bind" {
                let (attribute, ids) = first(rest);
                let devices = each(ids.split_whitespace(), device_id)?;
                of_type
                    .bindings
                    .push(AttributeBinding { attribute: attribute.to_owned(), devices });
            } else {
                of_type.slices.push(template(rest)?);
            }
        }
        _ => return Err("a line starts with what there is".to_owned()),
    }
    Ok(())
}

fn each<'t, T, C: FromIterator<T>>(
    parts: impl Iterator<Item = &'t str>,
    read: impl Fn(&'t str) -> Read<T>,
) -> Read<C> {
    parts.map(read).collect()
}

/// The parts of `text` around `sign`.
fn parted<'t>(text: &'t str, sign: &str) -> Read<(&'t str, &'t str)> {
    text.split_once(sign).ok_or_else(|| format!("`{text}` has no `{sign}`"))
}

/// What stands between `;`.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|part| !part.is_empty())
}

fn read_claim_key(name: &str) -> Read<ResourceClaimKey> {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    Ok(ResourceClaimKey { namespace: parsed(namespace)?, name: parsed(name)? })
}

fn amount(text: &str) -> Read<Quantity> {
    Quantity::parse(text).map_err(|error| error.to_string())
}

fn named_amount(text: &str) -> Read<(String, Quantity)> {
    let (name, value) = pair(text)?;
    Ok((name.to_owned(), amount(value)?))
}

fn device_id(text: &str) -> Read<DeviceId> {
    let (driver, rest) = parted(text, "/")?;
    let (pool, device) = parted(rest, "/")?;
    Ok(DeviceId { driver: driver.into(), pool: pool.into(), device: device.into() })
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
fn counter(word: &str) -> Read<(String, String, Quantity)> {
    let (name, value) = pair(word)?;
    let (set, counter) = parted(name, ".")?;
    Ok((set.to_owned(), counter.to_owned(), amount(value)?))
}

/// A set that is named again after another one is there twice.
fn counter_sets<'t>(words: impl Iterator<Item = &'t str>) -> Read<Vec<CounterSet>> {
    let mut sets: Vec<CounterSet> = Vec::new();
    for word in words {
        let (name, counter, value) = counter(word)?;
        match sets.last_mut().filter(|last| last.name == name) {
            Some(last) => {
                last.counters.insert(counter, value);
            }
            None => sets.push(CounterSet { name, counters: [(counter, value)].into() }),
        }
    }
    Ok(sets)
}

fn slice(text: &str, has_counters: bool) -> Read<ResourceSlice> {
    let (head, body) = text.split_once(':').unwrap_or((text, ""));
    let (name, rest) = first(head);
    let (pool, words) = first(rest);
    let (driver, pool) = parted(pool, "/")?;
    let mut slice = ResourceSlice {
        name: name.to_owned(),
        owner: None,
        driver: driver.into(),
        pool: ResourcePool { name: pool.into(), generation: 1, slice_count: 1 },
        access: SliceAccess::AllNodes,
        devices: Vec::new(),
        shared_counters: Vec::new(),
    };
    for word in words.split_whitespace() {
        match word.split_once('=') {
            None if word == "all" => slice.access = SliceAccess::AllNodes,
            None if word == "per-device" => slice.access = SliceAccess::Unsupported,
            Some(("gen", number)) => slice.pool.generation = parsed(number)?,
            Some(("of", number)) => slice.pool.slice_count = parsed(number)?,
            Some(("owner", name)) => slice.owner = Some(parsed(name)?),
            Some(("node", name)) => slice.access = SliceAccess::Node(parsed(name)?),
            Some(_) => slice.access = SliceAccess::Selector(selector(word)?),
            None => return Err(format!("`{word}`: a slice has no such word")),
        }
    }
    if has_counters {
        slice.shared_counters = counter_sets(body.split_whitespace())?;
    } else {
        slice.devices = listed_devices(body)?;
    }
    Ok(slice)
}

/// Terms are parted by `|`.
fn selector(text: &str) -> Read<NodeSelector> {
    let term = |text: &str| match text.strip_prefix("name=") {
        Some(names) => Ok(NodeSelectorTerm {
            requirements: Requirements::new(),
            nodes: Some(names.split(',').map(parsed).collect::<Read<_>>()?),
        }),
        None => Ok(NodeSelectorTerm {
            requirements: [read_requirement(text)?].into_iter().collect(),
            nodes: None,
        }),
    };
    Ok(NodeSelector { terms: each(text.split('|'), term)? })
}

fn template(text: &str) -> Read<TemplateSlice> {
    let (head, body) = parted(text, ":")?;
    let (pool, counters) = first(head);
    let (driver, pool) = parted(pool, "/")?;
    Ok(TemplateSlice {
        driver: driver.into(),
        pool: pool.into(),
        devices: listed_devices(body)?,
        shared_counters: counter_sets(counters.split_whitespace())?,
    })
}

fn listed_devices(text: &str) -> Read<Vec<SliceDevice>> {
    let each: Vec<Vec<SliceDevice>> = each(listed(text), some_devices)?;
    Ok(each.concat())
}

fn some_devices(text: &str) -> Read<Vec<SliceDevice>> {
    let (name, words) = first(text);
    let mut device = SliceDevice::default();
    for word in words.split_whitespace() {
        if word == "shared" {
            device.allows_multiple_allocations = true;
        } else if let Some(consumed) = word.strip_prefix('-') {
            let (set, counter, value) = counter(consumed)?;
            device.consumes_counters.entry(set).or_default().insert(counter, value);
        } else if let Some((name, value)) = word.split_once('=').filter(|_| !word.contains(':')) {
            device.attributes.insert(name.to_owned(), attribute(value)?);
        } else {
            let (name, value) = parted(word, ":")?;
            device.capacity.insert(name.to_owned(), capacity(value)?);
        }
    }
    let Some((stem, range)) = name.split_once('[') else {
        return Ok(vec![SliceDevice { name: name.into(), ..device }]);
    };
    let (from, to) = parted(range.trim_end_matches(']'), "-")?;
    let numbers = parsed::<u32>(from)?..=parsed(to)?;
    let numbered =
        |number| SliceDevice { name: format!("{stem}{number}").into(), ..device.clone() };
    Ok(numbers.map(numbered).collect())
}

fn attribute(text: &str) -> Read<AttributeValue> {
    Ok(if let Some(number) = text.strip_prefix('#') {
        AttributeValue::Int(parsed(number)?)
    } else if let Some(truth) = text.strip_prefix('?') {
        AttributeValue::Bool(parsed(truth)?)
    } else if let Some(version) = text.strip_prefix('@') {
        AttributeValue::Version(version.to_owned())
    } else {
        AttributeValue::String(text.to_owned())
    })
}

fn capacity(text: &str) -> Read<DeviceCapacity> {
    let (value, rules) = text.split_once('/').unwrap_or((text, ""));
    let rules = rules.split('/').filter(|rule| !rule.is_empty());
    let rules: BTreeMap<&str, &str> = each(rules, pair)?;
    let rule = |name: &str| rules.get(name).copied().map(amount).transpose();
    let values = rules.get("values").map(|list| each(list.split('|'), amount)).transpose()?;
    let valid = match (values, rule("min")?) {
        (Some(values), _) => Some(ValidAmounts::Values(values)),
        (None, Some(min)) => {
            Some(ValidAmounts::Range { min, max: rule("max")?, step: rule("step")? })
        }
        (None, None) => None,
    };
    let policy = RequestPolicy { default: rule("default")?, valid };
    Ok(DeviceCapacity { value: amount(value)?, policy: (!rules.is_empty()).then_some(policy) })
}

fn claim(text: &str) -> Read<ResourceClaim> {
    let (head, body) = text.split_once(": ").unwrap_or_else(|| (text.trim_end_matches(':'), ""));
    let (name, words) = first(head);
    let mut claim = ResourceClaim {
        key: read_claim_key(name)?,
        requests: Vec::new(),
        constraints: Vec::new(),
        allocation: None,
        reserved_for: Vec::new(),
    };
    let mut section = "";
    for word in words.split_whitespace() {
        let allocation = &mut claim.allocation;
        match (section, word) {
            (_, "has" | "on") => {
                allocation.get_or_insert_default();
                section = word;
            }
            (_, "for") => section = word,
            ("has", word) => {
                let (id, consumed) = word.split_once('@').unwrap_or((word, ""));
                let shares = consumed.split(',').filter(|share| !share.is_empty());
                let shares: BTreeMap<String, Quantity> = each(shares, named_amount)?;
                let shares = (!shares.is_empty()).then_some(shares);
                allocation.get_or_insert_default().devices.push((device_id(id)?, shares));
            }
            ("on", word) => allocation.get_or_insert_default().selector = Some(selector(word)?),
            ("for", "other") => claim.reserved_for.push(ClaimConsumer::Other),
            ("for", pod) => claim.reserved_for.push(ClaimConsumer::Pod(parsed(pod)?)),
            _ => return Err(format!("`{word}`: a claim has no such word")),
        }
    }
    for part in listed(body) {
        if let Some(rest) = part.strip_prefix("same ") {
            let (attribute, requests) = rest.split_once(" of ").unwrap_or((rest, ""));
            let requests = requests.split_whitespace().map(str::to_owned).collect();
            let attribute = attribute.to_owned();
            claim.constraints.push(DeviceConstraint::MatchAttribute { attribute, requests });
        } else if let Some(kind) = part.strip_prefix("constraint ") {
            claim.constraints.push(DeviceConstraint::Unsupported(kind.to_owned()));
        } else {
            claim.requests.push(request(part)?);
        }
    }
    Ok(claim)
}

fn request(text: &str) -> Read<DeviceRequest> {
    let (name, rest) = first(text);
    let asks: Vec<&str> = rest.split(" or ").collect();
    let kind = match asks.as_slice() {
        [""] => RequestKind::Unsupported,
        [single] => RequestKind::Exactly(ask(single)?),
        several => {
            let lettered = ('a'..='z').zip(several);
            let alternative = |(letter, text): (char, &&str)| Ok((letter.to_string(), ask(text)?));
            RequestKind::FirstAvailable(lettered.map(alternative).collect::<Read<_>>()?)
        }
    };
    Ok(DeviceRequest { name: name.to_owned(), kind })
}

fn ask(text: &str) -> Read<DeviceAsk> {
    let (text, expressions) = text.split_once(" where ").unwrap_or((text, ""));
    let (text, shares) = text.split_once(" with ").unwrap_or((text, ""));
    let (count, class) = parted(text, " ")?;
    Ok(DeviceAsk {
        class: class.to_owned(),
        selectors: selectors(expressions),
        count: match count {
            "all" => DeviceCount::All,
            number => DeviceCount::Exact(parsed(number)?),
        },
        capacity: each(shares.split_whitespace(), named_amount)?,
    })
}
