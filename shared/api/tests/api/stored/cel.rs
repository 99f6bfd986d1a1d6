//! The part of the Common Expression Language in which the rules of our definitions are written.
//!
//! An error is what an API server refuses the object for, too: a member that is absent, a text that is
//! no number.

use std::{cell::RefCell, collections::BTreeMap};

use regex_lite::Regex;
use serde_json::{Value, json};

thread_local! {
    static COMPILED: RefCell<BTreeMap<String, Regex>> = RefCell::default();
}

/// Asks the regular `expression`, which is compiled once.
pub(super) fn with_regex<T>(expression: &str, ask: impl FnOnce(&Regex) -> T) -> T {
    COMPILED.with_borrow_mut(|compiled| {
        let compile = || Regex::new(expression).expect("a regular expression");
        ask(compiled.entry(expression.to_owned()).or_insert_with(compile))
    })
}

/// An expression, parsed.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Literal(Value),
    Name(String),
    List(Vec<Self>),
    Member(Box<Self>, String),
    Item(Box<Self>, Box<Self>),
    /// A function, or a method of the first argument.
    Call(String, Vec<Self>),
    Not(Box<Self>),
    Binary(&'static str, Box<Self>, Box<Self>),
    Ternary(Box<Self>, Box<Self>, Box<Self>),
}

/// What names stand for, the innermost last.
type Names<'a> = Vec<(&'a str, Value)>;

impl Expression {
    /// Parses `text`, and panics where it is not of the part that is read here.
    pub(super) fn parse(text: &str) -> Self {
        let mut parser = Parser { text, at: 0 };
        let expression = parser.ternary();
        parser.space();
        assert_eq!(parser.at, text.len(), "not read to its end: {text}");
        expression
    }

    /// Whether it speaks of the object before a change.
    pub(super) fn is_of_change(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Name(name) => name == "oldSelf",
            Self::List(parts) | Self::Call(_, parts) => parts.iter().any(Self::is_of_change),
            Self::Member(of, _) | Self::Not(of) => of.is_of_change(),
            Self::Item(a, b) | Self::Binary(_, a, b) => a.is_of_change() || b.is_of_change(),
            Self::Ternary(a, b, c) => [a, b, c].into_iter().any(|part| part.is_of_change()),
        }
    }

    /// Whether it holds of `value`.
    pub(super) fn holds_of(&self, value: &Value) -> Result<bool, String> {
        truth(&self.value(&mut vec![("self", value.clone())])?)
    }

    fn value<'a>(&'a self, names: &mut Names<'a>) -> Result<Value, String> {
        Ok(match self {
            Self::Literal(value) => value.clone(),
            Self::Name(name) => {
                let bound = names.iter().rev().find(|(known, _)| known == name);
                bound.ok_or_else(|| format!("no name {name}"))?.1.clone()
            }
            Self::List(items) => {
                let items = items.iter().map(|item| item.value(names));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Member(of, key) => {
                let of = of.value(names)?;
                of.get(key).ok_or_else(|| format!("no such key: {key}"))?.clone()
            }
            Self::Item(of, key) => {
                let (of, key) = (of.value(names)?, key.value(names)?);
                let index = key.as_u64().and_then(|index| usize::try_from(index).ok());
                let item = match key.as_str() {
                    Some(key) => of.get(key),
                    None => index.and_then(|index| of.get(index)),
                };
                item.ok_or_else(|| format!("no such key: {key}"))?.clone()
            }
            Self::Not(of) => json!(!truth(&of.value(names)?)?),
            Self::Binary("&&", a, b) => both(a.value(names), b.value(names), false)?,
            Self::Binary("||", a, b) => both(a.value(names), b.value(names), true)?,
            Self::Binary(operator, a, b) => compared(operator, &a.value(names)?, &b.value(names)?)?,
            Self::Ternary(condition, yes, no) => {
                let is_so = truth(&condition.value(names)?)?;
                if is_so { yes.value(names)? } else { no.value(names)? }
            }
            Self::Call(name, arguments) => call(name, arguments, names)?,
        })
    }
}

fn truth(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("not true or false: {value}"))
}

/// `&&` and `||`: a side that is `decisive` decides, whatever the other is.
fn both(
    a: Result<Value, String>,
    b: Result<Value, String>,
    decisive: bool,
) -> Result<Value, String> {
    let (a, b) = (a.and_then(|a| truth(&a)), b.and_then(|b| truth(&b)));
    if a == Ok(decisive) || b == Ok(decisive) {
        return Ok(json!(decisive));
    }
    a?;
    b?;
    Ok(json!(!decisive))
}

fn compared(operator: &str, a: &Value, b: &Value) -> Result<Value, String> {
    let numbers = || a.as_i64().zip(b.as_i64()).ok_or_else(|| format!("{a} {operator} {b}"));
    Ok(json!(match operator {
        "==" => a == b,
        "!=" => a != b,
        "<=" => numbers().map(|(a, b)| a <= b)?,
        ">=" => numbers().map(|(a, b)| a >= b)?,
        "in" => match b {
            Value::Array(items) => items.contains(a),
            Value::Object(map) => a.as_str().is_some_and(|key| map.contains_key(key)),
            other => return Err(format!("{a} in {other}")),
        },
        other => return Err(format!("no operator {other}")),
    }))
}

fn call<'a>(
    name: &str,
    arguments: &'a [Expression],
    names: &mut Names<'a>,
) -> Result<Value, String> {
    match (name, arguments) {
        ("has", [Expression::Member(of, key)]) => {
            return Ok(json!(of.value(names)?.get(key).is_some()));
        }
        ("all" | "exists" | "filter", [of, Expression::Name(variable), condition]) => {
            return over(name, &of.value(names)?, |item| {
                names.push((variable, item.clone()));
                let is_so = condition.value(names).and_then(|value| truth(&value));
                names.pop();
                is_so
            });
        }
        _ => {}
    }
    let arguments: Vec<Value> =
        arguments.iter().map(|argument| argument.value(names)).collect::<Result<_, _>>()?;
    let texts: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
    Ok(match (name, texts.as_deref(), arguments.as_slice()) {
        ("size", Some([text]), _) => json!(text.chars().count()),
        ("size", _, [Value::Array(items)]) => json!(items.len()),
        ("size", _, [Value::Object(map)]) => json!(map.len()),
        ("int", Some([text]), _) => json!(text.parse::<i64>().map_err(|e| format!("{text}: {e}"))?),
        ("startsWith", Some([text, start]), _) => json!(text.starts_with(start)),
        ("endsWith", Some([text, end]), _) => json!(text.ends_with(end)),
        ("matches", Some([text, expression]), _) => {
            json!(with_regex(expression, |regex| regex.is_match(text)))
        }
        ("find", Some([text, expression]), _) => {
            json!(with_regex(expression, |regex| regex.find(text).map_or("", |it| it.as_str())))
        }
        ("split", Some([text, at]), _) => json!(text.split(at).collect::<Vec<_>>()),
        _ => return Err(format!("no function {name} of {arguments:?}")),
    })
}

/// `all`, `exists` and `filter` over the items of a list or the keys of a map.
fn over(
    name: &str,
    of: &Value,
    mut condition: impl FnMut(&Value) -> Result<bool, String>,
) -> Result<Value, String> {
    let items: Vec<Value> = match of {
        Value::Array(items) => items.clone(),
        Value::Object(map) => map.keys().map(|key| json!(key)).collect(),
        other => return Err(format!("{name} of {other}")),
    };
    let answers: Vec<Result<bool, String>> = items.iter().map(&mut condition).collect();
    if name == "filter" {
        let answers: Vec<bool> = answers.into_iter().collect::<Result<_, _>>()?;
        let kept = items.into_iter().zip(answers).filter(|(_, is_so)| *is_so);
        return Ok(kept.map(|(item, _)| item).collect());
    }
    let decisive = name == "exists";
    let start = Ok(json!(!decisive));
    answers.into_iter().fold(start, |sum, answer| both(sum, answer.map(Value::from), decisive))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).expect("a place between characters")
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Whether `token` comes next; then it is passed.
    fn takes(&mut self, token: &str) -> bool {
        self.space();
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    fn expects(&mut self, token: &str) {
        assert!(self.takes(token), "no `{token}` at {} of {}", self.at, self.text);
    }

    fn word(&mut self) -> String {
        self.space();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word: String = self.rest().chars().take_while(|c| is_part(*c)).collect();
        assert!(!word.is_empty(), "no word at {} of {}", self.at, self.text);
        self.at += word.len();
        word
    }

    fn ternary(&mut self) -> Expression {
        let condition = self.binary(0);
        if !self.takes("?") {
            return condition;
        }
        let yes = self.ternary();
        self.expects(":");
        Expression::Ternary(Box::new(condition), Box::new(yes), Box::new(self.ternary()))
    }

    fn binary(&mut self, level: usize) -> Expression {
        const LEVELS: [&[&str]; 3] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "in "]];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1);
        while let Some(operator) = operators.iter().find(|operator| self.takes(operator)) {
            let right = self.binary(level + 1);
            left = Expression::Binary(operator.trim_end(), Box::new(left), Box::new(right));
        }
        left
    }

    fn unary(&mut self) -> Expression {
        if self.takes("!") {
            return Expression::Not(Box::new(self.unary()));
        }
        let mut value = self.primary();
        loop {
            if self.takes(".") {
                let name = self.word();
                value = if self.takes("(") {
                    let mut arguments = vec![value];
                    arguments.extend(self.list(")"));
                    Expression::Call(name, arguments)
                } else {
                    Expression::Member(Box::new(value), name)
                };
            } else if self.takes("[") {
                let key = self.ternary();
                self.expects("]");
                value = Expression::Item(Box::new(value), Box::new(key));
            } else {
                return value;
            }
        }
    }

    fn primary(&mut self) -> Expression {
        if self.takes("(") {
            let inner = self.ternary();
            self.expects(")");
            return inner;
        }
        if self.takes("[") {
            return Expression::List(self.list("]"));
        }
        for quote in ["'", "\""] {
            if self.takes(quote) {
                let text = self.rest().split(quote).next().unwrap().to_owned();
                assert!(!text.contains('\\'), "an escape in {}", self.text);
                self.at += text.len() + 1;
                return Expression::Literal(json!(text));
            }
        }
        let word = self.word();
        match (word.parse::<i64>(), word.as_str()) {
            (Ok(number), _) => Expression::Literal(json!(number)),
            (_, "true" | "false") => Expression::Literal(json!(word == "true")),
            _ if self.takes("(") => Expression::Call(word, self.list(")")),
            _ => Expression::Name(word),
        }
    }

    /// Expressions between commas, up to `end`.
    fn list(&mut self, end: &str) -> Vec<Expression> {
        let mut items = Vec::new();
        while !self.takes(end) {
            items.push(self.ternary());
            self.takes(",");
        }
        items
    }
}
