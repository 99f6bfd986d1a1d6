//! Expressions in `kubelet` of a class: a number for each instance type.
//!
//! Karpenter: `pkg/cel/environment.go` of the AWS provider, which names variables and functions, and
//! `pkg/providers/instancetype/types.go`.

use std::{cmp::Ordering, collections::BTreeMap};

use cel::{CelEnvironment, CelFunction, CelValue, EvaluationError, Program, Type};
use model::{
    InstanceType, InstanceTypeInfo, Problem, ResourceName, labels,
    node_class::{Kubelet, KubeletFault, MaxPods, NodeClass, is_expression},
    problem::Rule,
};

/// In the order of [`Variables::values`].
const VARIABLES: [(&str, Type); 6] = [
    ("vcpus", Type::Int),
    ("memory_mib", Type::Int),
    ("default_enis", Type::Int),
    ("ips_per_eni", Type::Int),
    ("max_pods", Type::Int),
    ("instance_type", Type::Text),
];

const FUNCTIONS: &[CelFunction] = &[
    CelFunction {
        name: "max",
        is_method: false,
        result: of_numbers,
        run: |arguments| chosen(arguments, Ordering::Greater),
    },
    CelFunction {
        name: "min",
        is_method: false,
        result: of_numbers,
        run: |arguments| chosen(arguments, Ordering::Less),
    },
];

/// What a result of a resource is in, and of what it is a multiple: what is more is rounded up, so that types share
/// launch templates.
const UNITS: [(&str, &str, u64); 4] =
    [("cpu", "m", 10), ("memory", "Mi", 16), ("ephemeral-storage", "Gi", 1), ("pid", "", 1)];

/// Two whole numbers make one, and any other two make a double.
fn of_numbers(kinds: &[Type]) -> Option<Type> {
    match kinds {
        [Type::Int, Type::Int] => Some(Type::Int),
        [Type::Int | Type::Double, Type::Int | Type::Double] => Some(Type::Double),
        [Type::Dyn, Type::Dyn | Type::Int | Type::Double]
        | [Type::Int | Type::Double, Type::Dyn] => Some(Type::Dyn),
        _ => None,
    }
}

/// The first of two numbers if it is `wanted` beside the second, else the second.
fn chosen(arguments: &[CelValue], wanted: Ordering) -> Result<CelValue, EvaluationError> {
    let doubles = match arguments {
        [CelValue::Int(left), CelValue::Int(right)] => {
            return Ok(CelValue::Int(if left.cmp(right) == wanted { *left } else { *right }));
        }
        [left, right] => left.to_double().zip(right.to_double()),
        _ => None,
    };
    let (left, right) = doubles.ok_or(EvaluationError::NoSuchOverload("max or min"))?;
    Ok(CelValue::Double(if left.partial_cmp(&right) == Some(wanted) { left } else { right }))
}

/// Characters that a message has of an expression, and of what is wrong with it: a status has room for few more.
const SHOWN_MAX: usize = 80;
const WHY_MAX: usize = 240;

/// The first characters of `text`.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)) {
        Some(start) => format!("{start}…"),
        None => text.to_owned(),
    }
}

/// Compiles `text`, whose value must be a number.
fn compile(text: &str) -> Result<Program, String> {
    let environment =
        CelEnvironment { variables: &VARIABLES, functions: FUNCTIONS, has_bind: false };
    let program = environment.compile(text).map_err(|error| short(&error.to_string(), WHY_MAX))?;
    match program.result() {
        Type::Int | Type::Double => Ok(program),
        kind => Err(format!("its result is {kind}, and must be int or double")),
    }
}

/// Lets the expressions of `class` be evaluated, as if the gate `NodeClassCEL` is on: those that are none are among its
/// problems.
pub fn open_expressions(class: &mut NodeClass) {
    class.problems.retain(|problem| problem.rule != Rule::ExpressionsDisabled);
    let problems = invalid_expressions(&class.kubelet);
    if !problems.is_empty() && class.kubelet.fault != Some(KubeletFault::Invalid) {
        class.kubelet.fault = Some(KubeletFault::InvalidExpression);
    }
    class.problems.extend(problems);
}

/// The expressions of `kubelet` that are none.
pub fn invalid_expressions(kubelet: &Kubelet) -> Vec<Problem> {
    let problem = |(field, text): (String, &str)| {
        let why = compile(text).err()?;
        let start = short(text, SHOWN_MAX);
        Some(Problem::unusable(&field, format!("`{start}` is no valid expression: {why}")))
    };
    kubelet.expressions().into_iter().filter_map(problem).collect()
}

/// What an expression is evaluated for, but for how many pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variables<'a> {
    instance_type: &'a InstanceType,
    info: Option<&'a InstanceTypeInfo>,
}

impl<'a> Variables<'a> {
    /// Those of `instance_type`, which EC2 describes by `info`.
    pub(crate) fn of(instance_type: &'a InstanceType, info: Option<&'a InstanceTypeInfo>) -> Self {
        Self { instance_type, info }
    }

    fn values(&self, max_pods: u64) -> [CelValue; 6] {
        let capacity = &self.instance_type.capacity;
        let memory = || {
            let label = self.instance_type.label(labels::INSTANCE_MEMORY);
            let labeled = label.and_then(|memory| memory.parse().ok());
            labeled.unwrap_or(capacity.memory.0 >> 20)
        };
        let network = self.info.map(|info| &info.network);
        let interfaces = network.map_or(0, |network| {
            let default = network.cards.iter().find(|(card, _)| *card == network.default_card);
            default.map_or(0, |(_, most)| *most)
        });
        let number = |number: u64| CelValue::Int(i64::try_from(number).unwrap_or(i64::MAX));
        [
            number(self.info.map_or(capacity.cpu.0 / 1_000, |info| info.vcpus.into())),
            number(self.info.map_or_else(memory, |info| info.memory_mib)),
            number(interfaces.into()),
            number(network.map_or(0, |network| network.ipv4_per_interface.into())),
            number(max_pods),
            CelValue::from(self.instance_type.name.as_str()),
        ]
    }
}

/// What an expression came to, and why it is no amount.
type Amount = Result<u64, String>;

fn evaluated(program: &Program, values: &[CelValue]) -> Amount {
    let value = program.evaluate(values).map_err(|error| short(&error.to_string(), WHY_MAX))?;
    let number = value.to_int().ok_or_else(|| format!("{value} is not finite, or too large"))?;
    u64::try_from(number).map_err(|_| format!("{number} is negative"))
}

/// Quantities as they are written, by resource.
type Amounts = BTreeMap<ResourceName, String>;

/// What a class with expressions reserves on nodes of one type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reserved {
    /// `kubeReserved`
    pub(crate) kube: Amounts,
    /// `systemReserved`
    pub(crate) system: Amounts,
}

/// The expressions of a class that are valid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expressions {
    max_pods: Option<Program>,
    kube_reserved: BTreeMap<ResourceName, Program>,
    system_reserved: BTreeMap<ResourceName, Program>,
}

impl Expressions {
    pub(crate) fn of(kubelet: &Kubelet) -> Self {
        let programs = |given: &Amounts| {
            let given = given.iter().filter(|(_, text)| is_expression(text));
            given.filter_map(|(name, text)| Some((name.clone(), compile(text).ok()?))).collect()
        };
        Self {
            max_pods: match &kubelet.max_pods {
                Some(MaxPods::Expression(text)) => compile(text).ok(),
                Some(MaxPods::Number(_)) | None => None,
            },
            kube_reserved: programs(&kubelet.kube_reserved),
            system_reserved: programs(&kubelet.system_reserved),
        }
    }

    /// The number that `maxPods` is, if the class has any; an expression sees the `default` that there would be without.
    pub(crate) fn max_pods(
        &self,
        kubelet: &Kubelet,
        variables: &Variables<'_>,
        default: u64,
    ) -> Result<Option<u32>, String> {
        if let Some(MaxPods::Number(number)) = kubelet.max_pods {
            return Ok(Some(number));
        }
        let Some(program) = &self.max_pods else { return Ok(None) };
        let number = evaluated(program, &variables.values(default))?;
        match i32::try_from(number).ok().and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{number} is more than {}", i32::MAX)),
        }
    }

    /// What `kubelet` reserves on a node with `pods` pods, with amounts in place of expressions, and without those that
    /// fail or are negative; `None` if it has no expressions, so that its texts are the amounts.
    pub(crate) fn reserved(
        &self,
        kubelet: &Kubelet,
        variables: &Variables<'_>,
        pods: u64,
    ) -> Option<Reserved> {
        if self.kube_reserved.is_empty() && self.system_reserved.is_empty() {
            return None;
        }
        let values = variables.values(pods);
        let amounts = |given: &Amounts, programs: &BTreeMap<ResourceName, Program>| {
            let amount = |(name, text): (&ResourceName, &String)| {
                if !is_expression(text) {
                    return Some((name.clone(), text.clone()));
                }
                let amount = evaluated(programs.get(name)?, &values).ok()?;
                Some((name.clone(), written(name, amount)))
            };
            given.iter().filter_map(amount).collect()
        };
        Some(Reserved {
            kube: amounts(&kubelet.kube_reserved, &self.kube_reserved),
            system: amounts(&kubelet.system_reserved, &self.system_reserved),
        })
    }

    /// The first amount that fails or is negative with `pods` pods: its field, and why.
    pub(crate) fn failure(&self, variables: &Variables<'_>, pods: u64) -> Option<(String, String)> {
        let values = variables.values(pods);
        let members =
            [("kubeReserved", &self.kube_reserved), ("systemReserved", &self.system_reserved)];
        let mut amounts = members.into_iter().flat_map(|(member, programs)| {
            programs.iter().map(move |(name, program)| (member, name, program))
        });
        amounts.find_map(|(member, name, program)| {
            let why = evaluated(program, &values).err()?;
            Some((format!("spec.kubelet.{member}.{name}"), why))
        })
    }
}

/// `amount` of the resource called `name` as a quantity.
fn written(name: &ResourceName, amount: u64) -> String {
    let unit = UNITS.into_iter().find(|(resource, _, _)| *resource == name.as_str());
    let (_, suffix, step) = unit.unwrap_or(("", "", 1));
    let most = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    let rounded = amount.checked_next_multiple_of(step).filter(|rounded| *rounded <= most);
    format!("{}{suffix}", rounded.unwrap_or(amount))
}

#[cfg(test)]
mod tests;
