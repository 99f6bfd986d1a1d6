//! Tokens → a checked expression. Types are checked on the way: what is wrong first is reported.

mod access;

use crate::{
    CelEnvironment, DEPTH_MAX,
    error::CompileError,
    lexer::{Token, tokens},
    node::{Each, Macro, Node, Operator},
    operators,
    types::Type,
    value::CelValue,
};
use access::{field, item};

/// Words that are no names.
const RESERVED: [&str; 16] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "namespace",
    "package",
    "return",
    "var",
    "while",
];

/// An expression, its type, the characters before it, and how deep it is.
struct Part {
    node: Node,
    kind: Type,
    at: usize,
    depth: usize,
}

type Parsed = Result<Part, CompileError>;

/// Parses and checks all of `text`.
pub(crate) fn parse(
    environment: &CelEnvironment<'_>,
    text: &str,
) -> Result<(Node, Type), CompileError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { environment, tokens, next: 0, locals: Vec::new(), nesting: 0 };
    let part = parser.expression()?;
    match parser.peek() {
        Token::End => Ok((part.node, part.kind)),
        _ => parser.unexpected("an operator or the end"),
    }
}

struct Parser<'e> {
    environment: &'e CelEnvironment<'e>,
    tokens: Vec<(Token, usize)>,
    next: usize,
    /// Variables of the macros around.
    locals: Vec<(String, Type)>,
    nesting: usize,
}

fn wrong<T>(at: usize, words: impl Into<String>) -> Result<T, CompileError> {
    Err(CompileError { at, words: words.into() })
}

/// The deepest of `parts`, one deeper.
fn above<'p>(parts: impl IntoIterator<Item = &'p Part>) -> usize {
    parts.into_iter().map(|part| part.depth).max().unwrap_or_default() + 1
}

fn make(node: Node, kind: Type, at: usize, depth: usize) -> Parsed {
    if depth > DEPTH_MAX {
        return wrong(at, format!("deeper than {DEPTH_MAX} levels"));
    }
    Ok(Part { node, kind, at, depth })
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(token, _)| token)
    }

    fn at(&self) -> usize {
        let last = self.tokens.get(self.next).or_else(|| self.tokens.last());
        last.map_or(0, |(_, at)| *at)
    }

    fn sees(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(seen) if *seen == symbol)
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let is_seen = self.sees(symbol);
        self.next += usize::from(is_seen);
        is_seen
    }

    fn needs(&mut self, symbol: &str) -> Result<(), CompileError> {
        if self.takes(symbol) { Ok(()) } else { self.unexpected(&format!("`{symbol}`")) }
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, CompileError> {
        let seen = match self.peek() {
            Token::End => "the end".to_owned(),
            Token::Word(word) => format!("`{word}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Text(_) => "a string".to_owned(),
            Token::Int(_) | Token::Uint(_) | Token::Double(_) => "a number".to_owned(),
        };
        wrong(self.at(), format!("expected {wanted}, not {seen}"))
    }

    fn word(&mut self, wanted: &str) -> Result<String, CompileError> {
        if let Token::Word(word) = self.peek() {
            let word = word.clone();
            self.next += 1;
            return Ok(word);
        }
        self.unexpected(wanted)
    }

    /// A condition with its two branches, or what has a higher precedence.
    fn expression(&mut self) -> Parsed {
        let at = self.at();
        if self.nesting >= DEPTH_MAX {
            return wrong(at, format!("deeper than {DEPTH_MAX} levels"));
        }
        self.nesting += 1;
        let condition = self.binary(0)?;
        let part = if self.takes("?") {
            let chosen = self.binary(0)?;
            self.needs(":")?;
            let other = self.expression()?;
            choice(condition, chosen, other)
        } else {
            Ok(condition)
        };
        self.nesting -= 1;
        part
    }

    /// Operators of at least this precedence: 0 `||`, 1 `&&`, 2 comparisons, 3 sums, 4 products.
    fn binary(&mut self, least: usize) -> Parsed {
        let mut left = self.unary()?;
        while let Some((symbol, precedence)) = self.operator().filter(|(_, p)| *p >= least) {
            let at = self.at();
            self.next += 1;
            let right = self.binary(precedence + 1)?;
            left = match symbol {
                "||" | "&&" => logic(symbol, left, right)?,
                symbol => {
                    let operator = operators::of_symbol(symbol);
                    compared(operator, left, right, at)?
                }
            };
        }
        Ok(left)
    }

    fn operator(&self) -> Option<(&'static str, usize)> {
        let symbol = match self.peek() {
            Token::Symbol(symbol) => symbol,
            Token::Word(word) if word == "in" => "in",
            _ => return None,
        };
        let precedence = match symbol {
            "||" => 0,
            "&&" => 1,
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" => 2,
            "+" | "-" => 3,
            "*" | "/" | "%" => 4,
            _ => return None,
        };
        Some((symbol, precedence))
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        let symbol = if self.sees("!") { "!" } else { "-" };
        let mut times = 0;
        while self.takes(symbol) {
            times += 1;
        }
        // The least whole number is one only with its sign.
        if let (true, "-", Token::Int(number)) = (times % 2 == 1, symbol, self.peek())
            && let Some(number) = 0_i64.checked_sub_unsigned(*number)
        {
            self.next += 1;
            let literal = make(Node::Literal(CelValue::Int(number)), Type::Int, at, 1)?;
            return self.members(literal);
        }
        let part = self.primary()?;
        let part = self.members(part)?;
        if times == 0 {
            return Ok(part);
        }
        let takes: &[Type] = if symbol == "!" { &[Type::Bool] } else { &[Type::Int, Type::Double] };
        if part.kind != Type::Dyn && !takes.contains(&part.kind) {
            return wrong(at, format!("`{symbol}` takes no {}", part.kind));
        }
        let (depth, kind) = (part.depth + 1, part.kind);
        let kind = if symbol == "!" { Type::Bool } else { kind };
        let node = match (times % 2, symbol) {
            (1, "!") => Node::Not(Box::new(part.node)),
            (1, _) => Node::Negative(Box::new(part.node)),
            _ => part.node,
        };
        make(node, kind, at, depth)
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let (value, kind) = match self.peek().clone() {
            Token::Int(number) => match i64::try_from(number) {
                Ok(number) => (CelValue::Int(number), Type::Int),
                Err(_) => return wrong(at, "a number is too large"),
            },
            Token::Uint(number) => (CelValue::Uint(number), Type::Uint),
            Token::Double(number) => (CelValue::Double(number), Type::Double),
            Token::Text(text) => (CelValue::from(text.as_str()), Type::Text),
            Token::Word(word) => {
                self.next += 1;
                return self.named(&word, at);
            }
            Token::Symbol("(") => {
                self.next += 1;
                let part = self.expression()?;
                self.needs(")")?;
                return Ok(part);
            }
            Token::Symbol("[") => {
                self.next += 1;
                let items = self.list("]")?;
                let kind = Type::of_all(items.iter().map(|item| item.kind.clone()));
                let depth = above(&items);
                let nodes = items.into_iter().map(|item| item.node).collect();
                return make(Node::List(nodes), Type::list(kind), at, depth);
            }
            Token::Symbol("{") => {
                self.next += 1;
                return self.map(at);
            }
            Token::Symbol(_) | Token::End => return self.unexpected("a value"),
        };
        self.next += 1;
        make(Node::Literal(value), kind, at, 1)
    }

    /// Expressions between commas, up to `end`; a comma may stand before it.
    fn list(&mut self, end: &str) -> Result<Vec<Part>, CompileError> {
        let mut parts = Vec::new();
        while !self.takes(end) {
            parts.push(self.expression()?);
            if !self.sees(end) {
                self.needs(",")?;
            }
        }
        Ok(parts)
    }

    fn map(&mut self, at: usize) -> Parsed {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        while !self.takes("}") {
            let key = self.expression()?;
            let takes = [Type::Dyn, Type::Bool, Type::Int, Type::Uint, Type::Text];
            if !takes.contains(&key.kind) {
                return wrong(key.at, format!("a {} is no key of a map", key.kind));
            }
            self.needs(":")?;
            keys.push(key);
            values.push(self.expression()?);
            if !self.sees("}") {
                self.needs(",")?;
            }
        }
        let of = |parts: &[Part]| Type::of_all(parts.iter().map(|part| part.kind.clone()));
        let kind = Type::map(of(&keys), of(&values));
        let depth = above(keys.iter().chain(&values));
        let entries = keys.into_iter().zip(values).map(|(key, value)| (key.node, value.node));
        make(Node::Map(entries.collect()), kind, at, depth)
    }

    /// A variable, a function's call or a constant: what starts with `word`, which stands at `at`.
    fn named(&mut self, word: &str, at: usize) -> Parsed {
        let constant = match word {
            "true" | "false" => Some((CelValue::Bool(word == "true"), Type::Bool)),
            "null" => Some((CelValue::Null, Type::Null)),
            _ => None,
        };
        if let Some((value, kind)) = constant {
            return make(Node::Literal(value), kind, at, 1);
        }
        if self.takes("(") {
            if word == "has" {
                return self.has(at);
            }
            return self.call(word, None, at);
        }
        if word == "in" || RESERVED.contains(&word) {
            return wrong(at, format!("`{word}` is a reserved word"));
        }
        if word == "cel" && self.environment.has_bind && self.takes(".") {
            return self.bind(at);
        }
        if let Some(place) = self.locals.iter().rposition(|(name, _)| name == word) {
            let kind = self.locals.get(place).map_or(Type::Dyn, |(_, kind)| kind.clone());
            return make(Node::Local(place), kind, at, 1);
        }
        let mut variables = self.environment.variables.iter();
        let Some(place) = variables.position(|(name, _)| *name == word) else {
            let names: Vec<&str> =
                self.environment.variables.iter().map(|(name, _)| *name).collect();
            let words = format!("there is no variable `{word}`; there are {}", names.join(", "));
            return wrong(at, words);
        };
        let kind = self.environment.variables.get(place).map(|(_, kind)| kind.clone());
        make(Node::Global(place), kind.unwrap_or(Type::Dyn), at, 1)
    }

    /// What stands behind `cel.`
    fn bind(&mut self, at: usize) -> Parsed {
        if self.word("`bind`")? != "bind" {
            return wrong(at, "of `cel` there is only `cel.bind`");
        }
        self.needs("(")?;
        let variable = self.word("the name of a variable")?;
        self.needs(",")?;
        let bound = self.expression()?;
        self.needs(",")?;
        self.locals.push((variable, bound.kind.clone()));
        let part = self.expression()?;
        self.locals.pop();
        self.needs(")")?;
        let depth = above([&bound, &part]);
        make(Node::Bind(Box::new((bound.node, part.node))), part.kind, at, depth)
    }

    fn has(&mut self, at: usize) -> Parsed {
        let part = self.expression()?;
        self.needs(")")?;
        let Node::Field(whole, name) = part.node else {
            return wrong(at, "`has` takes a field, such as `has(a.b)`");
        };
        make(Node::HasField(whole, name), Type::Bool, at, part.depth)
    }

    /// The call of `name`, whose parenthesis is open, with what stands before its point.
    fn call(&mut self, name: &str, before: Option<Part>, at: usize) -> Parsed {
        let is_method = before.is_some();
        let mut arguments: Vec<Part> = before.into_iter().collect();
        arguments.extend(self.list(")")?);
        let functions = self.environment.functions(name, is_method);
        if functions.is_empty() {
            let what = if is_method { "method" } else { "function" };
            return wrong(at, format!("there is no {what} `{name}`"));
        }
        let kinds: Vec<Type> = arguments.iter().map(|part| part.kind.clone()).collect();
        let fitting =
            functions.into_iter().find_map(|function| Some((function, (function.result)(&kinds)?)));
        let Some((function, result)) = fitting else {
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            return wrong(at, format!("`{name}` does not take ({})", kinds.join(", ")));
        };
        let depth = above(&arguments);
        let nodes = arguments.into_iter().map(|part| part.node).collect();
        make(Node::Call(function, nodes), result, at, depth)
    }

    /// What stands behind `part`: fields, methods and indices.
    fn members(&mut self, mut part: Part) -> Parsed {
        loop {
            let at = self.at();
            if self.takes(".") {
                let name = self.word("the name of a field or a method")?;
                part = if self.takes("(") {
                    self.method(&name, part, at)?
                } else {
                    field(&name, part, at)?
                };
            } else if self.takes("[") {
                let index = self.expression()?;
                self.needs("]")?;
                part = item(part, index, at)?;
            } else {
                return Ok(part);
            }
        }
    }

    fn method(&mut self, name: &str, part: Part, at: usize) -> Parsed {
        let what = match name {
            "all" => Macro::All,
            "exists" => Macro::Exists,
            "exists_one" => Macro::ExistsOne,
            "filter" | "map" => Macro::List,
            _ => return self.call(name, Some(part), at),
        };
        let item = match &part.kind {
            Type::Dyn => Type::Dyn,
            Type::List(items) => Type::clone(items),
            Type::Map(parts) => parts.0.clone(),
            kind => return wrong(at, format!("`{name}` goes through lists and maps, not {kind}")),
        };
        let variable = self.word("the name of a variable")?;
        self.needs(",")?;
        self.locals.push((variable, item.clone()));
        let first = self.expression()?;
        let second = if name == "map" && self.takes(",") { Some(self.expression()?) } else { None };
        self.locals.pop();
        self.needs(")")?;
        let depth = above([&part, &first].into_iter().chain(&second));
        let (test, made) = match (name, second) {
            ("map", None) => (None, Some(first)),
            (_, second) => (Some(first), second),
        };
        if let Some(test) = test.as_ref().filter(|test| !test.kind.fits(&Type::Bool)) {
            return wrong(test.at, format!("`{name}` asks for a bool, not {}", test.kind));
        }
        let kind = match (what, &made) {
            (Macro::List, None) => Type::list(item),
            (Macro::List, Some(made)) => Type::list(made.kind.clone()),
            _ => Type::Bool,
        };
        let node = |part: Part| part.node;
        let each = Each { what, range: part.node, test: test.map(node), made: made.map(node) };
        make(Node::Each(Box::new(each)), kind, at, depth)
    }
}

fn choice(condition: Part, chosen: Part, other: Part) -> Parsed {
    let (at, depth) = (condition.at, above([&condition, &chosen, &other]));
    if !condition.kind.fits(&Type::Bool) {
        return wrong(at, format!("`?` asks for a bool, not {}", condition.kind));
    }
    if !chosen.kind.fits(&other.kind) {
        let words =
            format!("`?` has a {} on one side and a {} on the other", chosen.kind, other.kind);
        return wrong(at, words);
    }
    let kind = chosen.kind.or(&other.kind);
    let node = Node::Choice(Box::new((condition.node, chosen.node, other.node)));
    make(node, kind, at, depth)
}

fn logic(symbol: &str, left: Part, right: Part) -> Parsed {
    if let Some(part) = [&left, &right].into_iter().find(|part| !part.kind.fits(&Type::Bool)) {
        return wrong(part.at, format!("`{symbol}` takes a bool, not {}", part.kind));
    }
    let at = left.at;
    // A chain is as deep as its deepest part.
    let (mut nodes, depth) = match left.node {
        Node::Any(nodes) if symbol == "||" => (nodes, left.depth.max(right.depth + 1)),
        Node::All(nodes) if symbol == "&&" => (nodes, left.depth.max(right.depth + 1)),
        node => (vec![node], left.depth.max(right.depth) + 1),
    };
    nodes.push(right.node);
    let node = if symbol == "||" { Node::Any(nodes) } else { Node::All(nodes) };
    make(node, Type::Bool, at, depth)
}

fn compared(operator: Operator, left: Part, right: Part, at: usize) -> Parsed {
    let Some(kind) = operators::result(operator, &left.kind, &right.kind) else {
        let symbol = operator.symbol();
        let words = format!("`{symbol}` does not take ({}, {})", left.kind, right.kind);
        return wrong(at, words);
    };
    let depth = above([&left, &right]);
    make(Node::Binary(operator, Box::new((left.node, right.node))), kind, at, depth)
}
