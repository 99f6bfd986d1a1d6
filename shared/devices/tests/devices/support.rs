//! A language for small worlds of devices, and what becomes of claims in them.
//!
//! Facts are lines of [`testkit::build::devices`], with expressions such as `model=t4`, `memory>=16Gi` or `has model`;
//! `broken` does not compile.
//!
//! Steps, one a line: `[try] PLACE NODEPOOL TYPE,TYPE [fresh] [zone=A,B] …: CLAIM CLAIM`, where a place is `new-0` or
//! the name of a node (`fresh` before it is initialized); `keep PLACE TYPE …`; `leaving pods=A,B nodes=C` begins anew.

use std::{collections::BTreeMap, fmt::Write as _};

use super::judge::{Visited, gotten, violations};
use devices::{
    AllocatedClaim, AllocatedDevice, Allocation, DevicePlace, DevicePlaceKey, DeviceRefusal,
    Devices, Leaving, SelectableDevice, Selects,
};
use expect_test::Expect;
use model::{
    InstanceTypeName, NodeName, NodePoolName, PodUid, Quantity, Requirements,
    dynamic_resources::{DeviceFacts, ResourceClaimKey},
    requirements::Undefined,
};
pub(crate) use testkit::build::{claim_key, devices as facts, requirement};

/// Evaluates the expressions of this language.
pub(crate) struct Words;

impl Selects for Words {
    fn compile(&self, expression: &str) -> Result<(), String> {
        if expression == "broken" { Err("a word is missing".to_owned()) } else { Ok(()) }
    }

    fn selects(&self, expression: &str, device: SelectableDevice<'_>) -> Result<bool, String> {
        let device = device.device;
        if let Some(name) = expression.strip_prefix("has ") {
            return Ok(device.attributes.contains_key(name));
        }
        if let Some((name, least)) = expression.split_once(">=") {
            let capacity =
                device.capacity.get(name).ok_or_else(|| format!("no such key: {name}"))?;
            let least = Quantity::parse(least).map_err(|error| error.to_string())?;
            return Ok(least <= capacity.value);
        }
        let (name, wanted) = expression.split_once('=').ok_or("no word of this language")?;
        let value = device.attributes.get(name).ok_or_else(|| format!("no such key: {name}"))?;
        Ok(value.to_string() == wanted)
    }
}

/// A step onto a node.
pub(crate) struct Visit {
    pub(crate) key: DevicePlaceKey,
    node: Option<NodeName>,
    node_pool: NodePoolName,
    types: Vec<InstanceTypeName>,
    requirements: Requirements,
    has_templates: bool,
    pub(crate) claims: Vec<ResourceClaimKey>,
}

impl Visit {
    /// Adds what the place asked before; false if the pod does not go with that.
    pub(crate) fn follow(&mut self, visited: &Visited) -> bool {
        let Some(before) = visited.get(&self.key) else { return true };
        let goes = before.requirements.compatible(&self.requirements, Undefined::WellKnown).is_ok();
        self.requirements.add_all(&before.requirements);
        goes
    }

    /// Adds what the devices ask of a new node.
    pub(crate) fn note(&mut self, allocation: &Allocation) {
        if self.has_templates {
            self.requirements.add_all(&allocation.requirements);
        }
    }

    /// Leaves one claim and one type.
    pub(crate) fn keep_first_claim_and_type(&mut self) {
        self.types.truncate(1);
        self.claims.truncate(1);
    }

    pub(crate) fn place(&self) -> DevicePlace<'_> {
        DevicePlace {
            key: self.key,
            node: self.node.as_ref(),
            node_pool: &self.node_pool,
            requirements: &self.requirements,
            types: &self.types,
            has_templates: self.has_templates,
        }
    }
}

/// The place called `name`.
pub(crate) fn place_key(name: &str) -> DevicePlaceKey {
    match name.strip_prefix("new-") {
        Some(number) => DevicePlaceKey::New(number.parse().unwrap()),
        None => DevicePlaceKey::Existing(name.bytes().map(usize::from).sum()),
    }
}

pub(crate) fn types(names: &str) -> Vec<InstanceTypeName> {
    names.split(',').map(|name| InstanceTypeName::new(name).unwrap()).collect()
}

/// Reads `PLACE NODEPOOL TYPE,TYPE [fresh] [zone=A,B] …: CLAIM CLAIM`.
pub(crate) fn visit(line: &str) -> Visit {
    let (head, claims) = line.split_once(':').unwrap_or_else(|| panic!("{line}"));
    let words: Vec<&str> = head.split_whitespace().collect();
    let [place, node_pool, names, rest @ ..] = words.as_slice() else { panic!("{line}") };
    let key = place_key(place);
    let is_new = matches!(key, DevicePlaceKey::New(_));
    let labels = rest.iter().filter(|word| **word != "fresh");
    Visit {
        key,
        node: (!is_new).then(|| NodeName::new(place).unwrap()),
        node_pool: NodePoolName::new(node_pool).unwrap(),
        types: types(names),
        requirements: labels.map(|word| requirement(word)).collect(),
        has_templates: is_new || rest.contains(&"fresh"),
        claims: claims.split_whitespace().map(claim_key).collect(),
    }
}

fn listed(words: &str) -> impl Iterator<Item = &str> {
    words.split(',').filter(|word| !word.is_empty())
}

fn leaving(line: &str) -> Leaving {
    let mut leaving = Leaving::default();
    for word in line.split_whitespace() {
        match word.split_once('=') {
            Some(("pods", pods)) => {
                leaving.pods = listed(pods).map(|pod| PodUid::new(pod).unwrap()).collect();
            }
            Some(("nodes", nodes)) => {
                leaving.nodes = listed(nodes).map(|node| NodeName::new(node).unwrap()).collect();
            }
            _ => panic!("{word}"),
        }
    }
    leaving
}

/// What becomes of the steps, as text.
pub(crate) fn played(facts: &DeviceFacts, steps: &str) -> String {
    played_as(facts, steps, |name, answer| format!("{name}: {}\n", shown(answer)))
}

/// The same with a text of one's own for each answer.
pub(crate) fn played_as(
    facts: &DeviceFacts,
    steps: &str,
    shown: impl Fn(&str, &Result<Allocation, DeviceRefusal>) -> String,
) -> String {
    let devices = Devices::new(facts, &Words);
    let (mut leaves, mut visited) = (Leaving::default(), Visited::new());
    let mut state = devices.begin(&leaves);
    let mut text = String::new();
    for line in steps.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(words) = line.strip_prefix("leaving ") {
            leaves = leaving(words);
            visited.clear();
            state = devices.begin(&leaves);
        } else if let Some(words) = line.strip_prefix("keep ") {
            let (place, names) = words.split_once(' ').unwrap();
            let kept = types(&names.replace(' ', ","));
            state.keep_types(place_key(place), |name| kept.contains(name));
        } else {
            let trial = line.strip_prefix("try ");
            let mut step = visit(trial.unwrap_or(line));
            if !step.follow(&visited) {
                continue;
            }
            let answer = devices.allocate(&state, &step.place(), &step.claims);
            let name = trial.unwrap_or(line).split(' ').next().unwrap();
            text.push_str(&shown(name, &answer));
            if let Ok(allocation) = answer
                && trial.is_none()
            {
                step.note(&allocation);
                state.commit(allocation);
                visited.insert(step.key, step);
                let violations = violations(facts, &leaves, &gotten(&state), &visited);
                assert_eq!(violations, Vec::<String>::new(), "{line}");
            }
        }
    }
    text
}

fn shown(answer: &Result<Allocation, DeviceRefusal>) -> String {
    let allocation = match answer {
        Ok(allocation) => allocation,
        Err(refusal) => return refusal.to_string(),
    };
    let types: Vec<&str> = allocation.types.iter().map(InstanceTypeName::as_str).collect();
    let mut text = types.join(" ");
    if !allocation.requirements.is_empty() {
        write!(text, " if {}", allocation.requirements).unwrap();
    }
    if allocation.is_cut {
        text.push_str(" (cut)");
    }
    for (key, claim) in allocation.claims() {
        text.push_str(&shown_claim(key, claim));
    }
    text
}

fn shown_claim(key: &ResourceClaimKey, claim: &AllocatedClaim) -> String {
    let mut by_devices: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, devices) in &claim.devices {
        let texts: Vec<String> = devices.iter().map(shown_device).collect();
        by_devices.entry(texts.join(" ")).or_default().push(name.as_str());
    }
    let is_one = by_devices.len() == 1;
    let line = |(devices, names): (&String, &Vec<&str>)| {
        let on = if is_one { String::new() } else { format!(" on {}", names.join(" ")) };
        format!("\n  {}{on}: {devices}", key.name)
    };
    by_devices.iter().map(line).collect()
}

fn shown_device(device: &AllocatedDevice) -> String {
    let mark = if device.is_template { "~" } else { "" };
    let mut text = format!("{}={mark}{}", device.request, device.id);
    if let Some(consumed) = &device.consumed {
        let shares: Vec<String> =
            consumed.iter().map(|(name, share)| format!("{name}={share}")).collect();
        write!(text, "({})", shares.join(" ")).unwrap();
    }
    text
}

/// Plays `steps` in the world of `text`.
#[track_caller]
pub(crate) fn check(text: &str, steps: &str, expected: &Expect) {
    expected.assert_eq(&played(&facts(text), steps));
}
