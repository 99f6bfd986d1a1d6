//! What expressions come to, what is no expression, and that no text takes anything that is not bounded.

use cel::{
    CelEnvironment, CelValue, CompileError, DEPTH_MAX, EvaluationError, LENGTH_MAX, Program, Type,
};
use proptest::prelude::*;

fn compiled(text: &str) -> Result<Program, CompileError> {
    let variables = [
        ("vcpus", Type::Int),
        ("name", Type::Text),
        ("device", Type::map(Type::Text, Type::Dyn)),
        ("any", Type::Dyn),
    ];
    CelEnvironment { variables: &variables, functions: &[], has_bind: true }.compile(text)
}

/// The value of `text` as [`CelValue`] shows it, what fails, or why it is no expression.
fn said(text: &str) -> String {
    let program = match compiled(text) {
        Ok(program) => program,
        Err(error) => return format!("no expression: {error}"),
    };
    let map = |entries: &[(&str, CelValue)]| {
        CelValue::Map(
            entries.iter().map(|(key, value)| (CelValue::from(*key), value.clone())).collect(),
        )
    };
    let gpu = map(&[("memory", CelValue::Int(80)), ("ecc", CelValue::Bool(true))]);
    let device = map(&[("driver", CelValue::from("gpu.example")), ("gpu.example/attributes", gpu)]);
    let values = [CelValue::Int(4), CelValue::from("m5.large"), device, CelValue::Int(7)];
    match program.evaluate(&values) {
        Ok(CelValue::List(items)) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        Ok(value) => value.to_string(),
        Err(error) => format!("fails: {error}"),
    }
}

fn assert_said(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(said(text), *expected, "{text}");
    }
}

#[test]
fn operators_have_their_precedence_and_types() {
    assert_said(&[
        ("1 + 2 * 3 - 4 / 2 % 3", "5"),
        ("(1 + 2) * 3", "9"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7.0 / 2.0", "3.5"),
        ("0x1F + 1", "32"),
        ("5u - 3u", "2"),
        ("2e3 + .5", "2000.5"),
        ("--3", "3"),
        ("!!true", "true"),
        ("\"a\" + 'b\\n\\u00e4' + r\"\\n\"", "\"ab\\nä\\\\n\""),
        ("[1, 2] + [3,]", "[1, 2, 3]"),
        ("1 < 2 == true && 'a' < 'b' || false", "true"),
        ("vcpus > 2 ? vcpus * 10 : 5 // pods", "40"),
        ("vcpus == 1 ? 1 : vcpus == 4 ? 44 : 3", "44"),
        ("2 in [1, 2] && !('c' in {'a': 1})", "true"),
        ("{'m5.large': 20, 'm5.xlarge': 40}[name]", "20"),
        ("[[1], [2, 3]][1][0]", "2"),
        ("{1: 'a'} == {1: 'a'} && [1, 2] != [2, 1]", "true"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("7.5 > any && 2u in [any, 2]", "true"),
        ("any == 7.0 && any == 7u && 9007199254740993 != any", "true"),
        ("[1, 2.0][1] == 2 && [2, 2.5][1] > 2", "true"),
        ("any + 1", "8"),
        ("any + '1'", "fails: no such overload of +"),
    ]);
}

#[test]
fn what_only_values_decide_fails_at_evaluation() {
    assert_said(&[
        ("100 / (vcpus - vcpus)", "fails: division by zero"),
        ("100u % 0u", "fails: division by zero"),
        ("1.0 / 0.0", "inf"),
        ("0.0 / 0.0 == 0.0 / 0.0", "false"),
        ("0.0 / 0.0 < 1.0", "false"),
        ("9223372036854775807 + 1", "fails: integer overflow"),
        ("-9223372036854775808 / -1", "fails: integer overflow"),
        ("-(-9223372036854775808)", "fails: integer overflow"),
        ("1u - 2u", "fails: integer overflow"),
        ("[1][1]", "fails: index 1 is out of range"),
        ("[1][-1]", "fails: index -1 is out of range"),
        ("{'a': 1}[name]", "fails: no such key: \"m5.large\""),
        ("{'a': 1, 'a': 2}", "fails: a map has a key twice"),
        ("int('4x')", "fails: \"4x\" is no int"),
        ("int(1e19)", "fails: integer overflow"),
        ("uint(-1)", "fails: integer overflow"),
    ]);
}

#[test]
fn logic_absorbs_errors_beside_what_decides() {
    assert_said(&[
        ("1 / 0 == 1 || true", "true"),
        ("1 / 0 == 1 && false", "false"),
        ("1 / 0 == 1 || false", "fails: division by zero"),
        ("true && 1 / 0 == 1", "fails: division by zero"),
        ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ("[0, 2].exists(x, 1 / x == 1)", "fails: division by zero"),
        ("[0, 2].all(x, 1 / x == 1)", "false"),
        ("true ? 1 : 1 / 0", "1"),
    ]);
}

#[test]
fn macros_and_functions_do_what_the_language_says() {
    assert_said(&[
        ("[1, 2, 3].all(x, x > 0)", "true"),
        ("[1, 2, 2].exists_one(x, x == 2)", "false"),
        ("[1, 2, 3].filter(x, x % 2 == 1)", "[1, 3]"),
        ("[1, 2, 3].map(x, x > 1, x * vcpus)", "[8, 12]"),
        ("[1, 2].map(x, [3].map(y, x * y)[0])", "[3, 6]"),
        ("[1].map(vcpus, vcpus)", "[1]"),
        ("{'a': 1, 'b': 2}.map(k, k)", "[\"a\", \"b\"]"),
        ("size('aä') + [1].size() + size({})", "3"),
        ("name.startsWith('m5.') && name.endsWith('large') && name.contains('5.l')", "true"),
        ("int(-3.9) + int(7u) + int('-4')", "0"),
        ("double(3) * 0.5", "1.5"),
        (
            "string(12) + string(1.5) + string(true) + string(1234567.0)",
            "\"121.5true1.234567e+06\"",
        ),
        ("has(device.driver) && !has(device.vendor)", "true"),
        ("device.driver == 'gpu.example'", "true"),
        ("device['gpu.example/attributes'].memory >= 40", "true"),
        ("device.vendor == 'x'", "fails: no such key: \"vendor\""),
        ("device.driver.memory", "fails: no such overload of a field"),
    ]);
}

#[test]
fn what_is_no_expression_says_where_and_why() {
    assert_said(&[
        ("", "no expression: expected a value, not the end (at character 1)"),
        ("1 +", "no expression: expected a value, not the end (at character 4)"),
        ("(1", "no expression: expected `)`, not the end (at character 3)"),
        ("1 2", "no expression: expected an operator or the end, not a number (at character 3)"),
        ("1 & 2", "no expression: unexpected character '&' (at character 3)"),
        ("'a", "no expression: a string must end with its quote (at character 3)"),
        ("'\\q'", "no expression: unknown escape in a string (at character 2)"),
        ("99999999999999999999", "no expression: a number is too large, or none (at character 1)"),
        ("9223372036854775808", "no expression: a number is too large (at character 1)"),
        ("for", "no expression: `for` is a reserved word (at character 1)"),
        (
            "cpus * 2",
            "no expression: there is no variable `cpus`; there are vcpus, name, device, any (at character 1)",
        ),
        ("abs(1)", "no expression: there is no function `abs` (at character 1)"),
        ("name.matches('m')", "no expression: there is no method `matches` (at character 5)"),
        ("1 + 1.0", "no expression: `+` does not take (int, double) (at character 3)"),
        ("1 == '1'", "no expression: `==` does not take (int, string) (at character 3)"),
        ("vcpus < 2.5", "no expression: `<` does not take (int, double) (at character 7)"),
        (
            "true ? 1 : 'a'",
            "no expression: `?` has a int on one side and a string on the other (at character 1)",
        ),
        ("1 ? 1 : 2", "no expression: `?` asks for a bool, not int (at character 1)"),
        ("1 && true", "no expression: `&&` takes a bool, not int (at character 1)"),
        ("-true", "no expression: `-` takes no bool (at character 1)"),
        ("-5u", "no expression: `-` takes no uint (at character 1)"),
        ("[1].all(x, x)", "no expression: `all` asks for a bool, not int (at character 12)"),
        (
            "name.all(x, true)",
            "no expression: `all` goes through lists and maps, not string (at character 5)",
        ),
        ("has(name)", "no expression: `has` takes a field, such as `has(a.b)` (at character 1)"),
        ("name.size", "no expression: a string has no fields (at character 5)"),
        ("1.5.2", "no expression: expected an operator or the end, not a number (at character 4)"),
        ("vcpus[0]", "no expression: a int has no items (at character 6)"),
        ("[1]['a']", "no expression: an index of a list(int) is no string (at character 5)"),
        ("int(1, 2)", "no expression: `int` does not take (int, int) (at character 1)"),
        ("{1.5: 1}", "no expression: a double is no key of a map (at character 2)"),
    ]);
}

#[test]
fn the_type_of_an_expression_is_known_before_it_is_evaluated() {
    let kind = |text: &str| compiled(text).map(|program| program.result().to_string());
    for (text, expected) in [
        ("vcpus * 2", "int"),
        ("double(vcpus)", "double"),
        ("name == 'a'", "bool"),
        ("[1, 2.0][0]", "dyn"),
        ("{'a': [1]}", "map(string, list(int))"),
        ("device.driver", "dyn"),
        ("[]", "list(dyn)"),
    ] {
        assert_eq!(kind(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn an_expression_has_limits() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(said(&nested(DEPTH_MAX - 1)), "1");
    assert!(said(&nested(5_000)).contains("deeper than 128 levels"), "{}", said(&nested(5_000)));
    let sum = |terms: usize| vec!["1"; terms].join("+");
    assert_eq!(said(&sum(DEPTH_MAX)), "128");
    assert!(said(&sum(DEPTH_MAX + 1)).contains("deeper than 128 levels"));
    assert_eq!(said(&vec!["vcpus == 1"; 500].join("||")), "false", "a chain of logic is flat");
    assert!(said(&"-".repeat(5_000)).contains("expected a value"));
    assert!(said(&" ".repeat(LENGTH_MAX + 1)).contains("longer than 10240 bytes"));
    assert!(said(&format!("{}1{}", "[".repeat(200), "]".repeat(200))).contains("deeper than"));
}

#[test]
fn an_evaluation_has_limits() {
    let too_many = format!("fails: {}", EvaluationError::TooManySteps);
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    let nested = |inner: &str| {
        (0..6).fold(inner.to_owned(), |inner, depth| format!("{ten}.all(x{depth}, {inner})"))
    };
    assert_eq!(said(&nested("true")), too_many);
    assert_eq!(said(&format!("{} || true", nested("true"))), too_many, "nothing absorbs it");
    // Texts and lists that double, and lists of the same list that are compared.
    let doubled = |start: &str, step: &str| format!("[{start}]{}", step.repeat(60));
    assert_eq!(said(&doubled("'aaaaaaaaaaaaaaaa'", ".map(y, y + y)")), too_many);
    assert_eq!(said(&doubled("[1]", ".map(y, y + y)")), too_many);
    let shared = doubled("1", ".map(y, [y, y])");
    assert_eq!(said(&format!("{shared} == {shared}")), too_many);
}

/// Texts that are nearly expressions.
fn nearly() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "1",
        "-",
        "9223372036854775807",
        "2.5",
        "3u",
        "'a'",
        "\"",
        "vcpus",
        "name",
        "device",
        "any",
        "+",
        "*",
        "/",
        "%",
        "==",
        "<",
        "&&",
        "||",
        "!",
        "?",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        " in ",
        "has(",
        ".all(x,",
        "cel.bind(x,",
        ".map(x,",
        "x",
        "size(",
        "int(",
        "double(",
        "string(",
        ".driver",
        "true",
        "null",
        "//",
        "\\",
        "ä",
        "0x",
        "1e",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in nearly()) {
        let _said = said(&text);
    }

    #[test]
    fn whole_numbers_are_those_of_the_processor(a in any::<i64>(), b in any::<i64>()) {
        let whole = |text: String| match compiled(&text).map(|program| program.evaluate(&[])) {
            Ok(Ok(CelValue::Int(number))) => Some(number),
            Ok(_) => None,
            Err(error) => panic!("{text}: {error}"),
        };
        prop_assert_eq!(whole(format!("{a} + {b}")), a.checked_add(b));
        prop_assert_eq!(whole(format!("{a} - {b}")), a.checked_sub(b));
        prop_assert_eq!(whole(format!("{a} * {b}")), a.checked_mul(b));
        prop_assert_eq!(whole(format!("{a} / {b}")), a.checked_div(b));
        prop_assert_eq!(whole(format!("{a} % {b}")), a.checked_rem(b));
    }

    #[test]
    fn the_type_that_is_known_before_is_that_of_the_value(text in nearly()) {
        let Ok(program) = compiled(&text) else { return Ok(()) };
        let values = [CelValue::Int(4), CelValue::from("m5"), CelValue::Map([].into()), CelValue::Null];
        let Ok(value) = program.evaluate(&values) else { return Ok(()) };
        let kind = match value {
            CelValue::Null => Type::Null,
            CelValue::Bool(_) => Type::Bool,
            CelValue::Int(_) => Type::Int,
            CelValue::Uint(_) => Type::Uint,
            CelValue::Double(_) => Type::Double,
            CelValue::Text(_) => Type::Text,
            CelValue::List(_) => Type::list(Type::Dyn),
            CelValue::Map(_) | CelValue::OpenMap(_) => Type::map(Type::Dyn, Type::Dyn),
            CelValue::Quantity(_) => Type::Quantity,
            CelValue::Semver(_) => Type::Semver,
        };
        prop_assert!(kind.fits(program.result()), "{} {:?} {}", text, kind, program.result());
    }
}
