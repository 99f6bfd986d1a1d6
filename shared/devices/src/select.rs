//! Which devices an expression selects.

use std::{
    cell::RefCell,
    collections::{BTreeMap, btree_map::Entry as MapEntry},
    fmt,
    rc::Rc,
};

use model::dynamic_resources::SliceDevice;

use crate::inventory::Entry;

/// What an expression sees of a device.
#[derive(Clone, Copy, Debug)]
pub struct SelectableDevice<'d> {
    /// The driver of its pool.
    pub driver: &'d str,
    /// Its attributes, its capacity and whether it allows multiple allocations; its name is not to be seen.
    pub device: &'d SliceDevice,
}

/// Evaluates CEL expressions of selectors. Equal questions have equal answers.
pub trait Selects {
    /// Whether `expression` compiles; the error says why it does not.
    fn compile(&self, expression: &str) -> Result<(), String>;

    /// Whether `expression`, which compiles, selects `device`; the error says why that cannot be evaluated.
    fn selects(&self, expression: &str, device: SelectableDevice<'_>) -> Result<bool, String>;
}

impl<S: Selects + ?Sized> Selects for &S {
    fn compile(&self, expression: &str) -> Result<(), String> {
        (**self).compile(expression)
    }

    fn selects(&self, expression: &str, device: SelectableDevice<'_>) -> Result<bool, String> {
        (**self).selects(expression, device)
    }
}

/// An expression that compiles.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    number: usize,
}

/// What expressions answered so far.
pub(crate) struct Selectors<'a> {
    selects: Box<dyn Selects + 'a>,
    known: BTreeMap<String, Result<Rc<Expression>, String>>,
    answers: RefCell<BTreeMap<(usize, usize), Result<bool, String>>>,
}

impl fmt::Debug for Selectors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selectors").field("known", &self.known).finish_non_exhaustive()
    }
}

impl<'a> Selectors<'a> {
    pub(crate) fn new(selects: impl Selects + 'a) -> Self {
        Self { selects: Box::new(selects), known: BTreeMap::new(), answers: RefCell::default() }
    }

    pub(crate) fn compile(&mut self, text: &str) -> Result<Rc<Expression>, String> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let number = self.known.len();
        let compiled = self.selects.compile(text);
        let expression = compiled.map(|()| Rc::new(Expression { text: text.to_owned(), number }));
        self.known.insert(text.to_owned(), expression.clone());
        expression
    }

    /// Whether all of `expressions` select the device: they are asked in order until one does not. The error has the
    /// expression that cannot be evaluated, and why.
    pub(crate) fn select(
        &self,
        expressions: &[Rc<Expression>],
        entry: &Entry<'_>,
    ) -> Result<bool, (String, String)> {
        for expression in expressions {
            match self.selects_one(expression, entry) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => return Err((expression.text.clone(), why)),
            }
        }
        Ok(true)
    }

    /// The place and the text of the first of `expressions` that does not select the device, or cannot be evaluated.
    pub(crate) fn refusing<'e>(
        &self,
        expressions: &'e [Rc<Expression>],
        entry: &Entry<'_>,
    ) -> Option<(usize, &'e str)> {
        let numbered = expressions.iter().enumerate();
        let mut refusing =
            numbered.filter(|(_, expression)| self.selects_one(expression, entry) != Ok(true));
        refusing.next().map(|(place, expression)| (place, expression.text.as_str()))
    }

    fn selects_one(&self, expression: &Expression, entry: &Entry<'_>) -> Result<bool, String> {
        match self.answers.borrow_mut().entry((expression.number, entry.place)) {
            MapEntry::Occupied(known) => known.get().clone(),
            MapEntry::Vacant(unknown) => {
                let device = SelectableDevice { driver: &entry.id.driver, device: entry.device };
                unknown.insert(self.selects.selects(&expression.text, device)).clone()
            }
        }
    }
}
