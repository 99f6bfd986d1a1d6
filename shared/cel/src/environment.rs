//! What an expression may name, and what becomes of it.

use crate::{
    error::{CompileError, EvaluationError},
    evaluate::Evaluation,
    library,
    node::Node,
    parser,
    types::Type,
    value::CelValue,
};

/// A function or a method.
#[derive(Debug)]
pub struct CelFunction {
    /// What it is called.
    pub name: &'static str,
    /// Whether the first argument stands before a point.
    pub is_method: bool,
    /// The type of its result for arguments of these types; `None` if it does not take them. Arguments of the type
    /// [`Type::Dyn`] may be anything.
    pub result: fn(&[Type]) -> Option<Type>,
    /// Its result. Arguments of other types are a [`EvaluationError::NoSuchOverload`].
    pub run: fn(&[CelValue]) -> Result<CelValue, EvaluationError>,
}

/// The variables and functions of expressions, beside what the language has itself.
#[derive(Clone, Copy, Debug)]
pub struct CelEnvironment<'a> {
    /// Variables, in the order in which [`Program::evaluate`] takes their values.
    pub variables: &'a [(&'static str, Type)],
    /// Functions that the language does not have.
    pub functions: &'static [CelFunction],
    /// Whether `cel.bind(name, value, expression)` names a value within an expression.
    pub has_bind: bool,
}

impl CelEnvironment<'_> {
    /// The expression that `text` is.
    pub fn compile(&self, text: &str) -> Result<Program, CompileError> {
        let (node, result) = parser::parse(self, text)?;
        Ok(Program { node, result })
    }

    pub(crate) fn functions(&self, name: &str, is_method: bool) -> Vec<&'static CelFunction> {
        let functions = self.functions.iter().chain(library::FUNCTIONS);
        functions
            .filter(|function| function.name == name && function.is_method == is_method)
            .collect()
    }
}

/// A checked expression.
#[derive(Clone, Debug)]
pub struct Program {
    node: Node,
    result: Type,
}

impl Program {
    /// The type of its values.
    pub fn result(&self) -> &Type {
        &self.result
    }

    /// Its value for these `values` of the environment's variables, in their order.
    pub fn evaluate(&self, values: &[CelValue]) -> Result<CelValue, EvaluationError> {
        Evaluation::with(values).value(&self.node)
    }
}
