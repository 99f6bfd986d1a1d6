//! CEL expressions of selectors.
//!
//! Kubernetes: `staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go`, which names the variable, and
//! `staging/src/k8s.io/apiserver/pkg/cel/library`, the functions.

mod functions;

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use cel::{CelEnvironment, CelValue, Program, Semver, Type};
use model::dynamic_resources::AttributeValue;

use crate::select::{SelectableDevice, Selects};

/// Compiles each expression once.
///
/// Of Kubernetes' functions, those that [`cel`] does not have are left out, and `replace`, `join`, `format`, those of
/// lists and sets, `find`, addresses and URLs. `matches` takes texts and patterns of at most 256 bytes.
#[derive(Debug, Default)]
pub struct CelSelectors {
    programs: RefCell<BTreeMap<String, Result<Program, String>>>,
}

impl CelSelectors {
    fn program(&self, expression: &str) -> Result<Program, String> {
        let mut programs = self.programs.borrow_mut();
        if let Some(known) = programs.get(expression) {
            return known.clone();
        }
        let compiled = compile(expression);
        programs.insert(expression.to_owned(), compiled.clone());
        compiled
    }
}

impl Selects for CelSelectors {
    fn compile(&self, expression: &str) -> Result<(), String> {
        self.program(expression).map(drop)
    }

    fn selects(&self, expression: &str, device: SelectableDevice<'_>) -> Result<bool, String> {
        let value = self.program(expression)?.evaluate(&[of_device(device)?]);
        match value.map_err(|error| error.to_string())? {
            CelValue::Bool(is_selected) => Ok(is_selected),
            value => Err(format!("its result is {value}, and must be bool")),
        }
    }
}

fn compile(expression: &str) -> Result<Program, String> {
    let by_domain = |kind| Type::map(Type::Text, Type::map(Type::Text, kind));
    let device = Type::Object(Arc::from([
        ("driver", Type::Text),
        ("allowMultipleAllocations", Type::Bool),
        ("attributes", by_domain(Type::Dyn)),
        ("capacity", by_domain(Type::Quantity)),
    ]));
    let variables = [("device", device)];
    let functions = functions::FUNCTIONS;
    let environment = CelEnvironment { variables: &variables, functions, has_bind: true };
    let program = environment.compile(expression).map_err(|error| error.to_string())?;
    match program.result() {
        Type::Bool | Type::Dyn => Ok(program),
        kind => Err(format!("its result is {kind}, and must be bool")),
    }
}

/// The value of `device`; the error names an attribute that has none.
fn of_device(device: SelectableDevice<'_>) -> Result<CelValue, String> {
    let SelectableDevice { driver, device } = device;
    let attributes = device.attributes.iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::Int(number) => CelValue::Int(*number),
            AttributeValue::Bool(truth) => CelValue::Bool(*truth),
            AttributeValue::String(text) => CelValue::from(text.as_str()),
            AttributeValue::Version(text) => Semver::parse(text)
                .map(|version| CelValue::Semver(Arc::new(version)))
                .ok_or_else(|| format!("attribute {name}: {text:?} is no semantic version"))?,
        };
        Ok((name, value))
    });
    let attributes = by_domain(driver, attributes)?;
    let capacity = device.capacity.iter();
    let capacity = capacity.map(|(name, own)| Ok((name, CelValue::Quantity(own.value.nanos()))));
    let fields = [
        ("driver", CelValue::from(driver)),
        ("allowMultipleAllocations", CelValue::Bool(device.allows_multiple_allocations)),
        ("attributes", attributes),
        ("capacity", by_domain(driver, capacity)?),
    ];
    Ok(CelValue::Map(fields.map(|(name, value)| (CelValue::from(name), value)).into()))
}

/// Values by domain and name. What has no domain is in the driver's own.
fn by_domain<'n>(
    driver: &str,
    values: impl Iterator<Item = Result<(&'n String, CelValue), String>>,
) -> Result<CelValue, String> {
    let mut domains: BTreeMap<&str, BTreeMap<&str, CelValue>> = BTreeMap::new();
    for named in values {
        let (name, value) = named?;
        let (domain, name) = name.split_once('/').unwrap_or((driver, name));
        domains.entry(domain).or_default().insert(name, value);
    }
    let domains = domains.into_iter().map(|(domain, values)| {
        let values = values.into_iter().map(|(name, value)| (CelValue::from(name), value));
        (CelValue::from(domain), CelValue::Map(values.collect()))
    });
    Ok(CelValue::OpenMap(domains.collect()))
}
