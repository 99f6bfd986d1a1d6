//! Lines and tables fit the window.

use report::screen::Screen;

fn table(columns: Option<usize>) -> String {
    let screen = Screen { columns, ..Screen::default() };
    let rows = [vec!["1".to_owned(), "general".into(), "default/web ×12, default/db-0".into()]];
    let mut out = Vec::new();
    screen.table(&["NODES", "NODEPOOL", "PODS EACH"], &rows, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_table_fits_every_window() {
    assert_eq!(
        table(None),
        "  NODES  NODEPOOL  PODS EACH\n  1      general   default/web ×12, default/db-0\n"
    );
    assert_eq!(
        table(Some(38)),
        "  NODES  NODEPOOL  PODS EACH\n  1      general   default/web ×12,\n                   default/db-0\n"
    );
    assert_eq!(
        table(Some(24)),
        "  NODES  NODEPOOL\n      PODS EACH\n  1      general\n      default/web ×12,\n        default/db-0\n"
    );
    for columns in 12..90 {
        let longest = table(Some(columns)).lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(columns), "{columns}:\n{}", table(Some(columns)));
    }
}

#[test]
fn a_cell_that_is_empty_takes_no_line() {
    let rows = [vec!["general-1".to_owned(), String::new(), String::new()]];
    for columns in [None, Some(24), Some(12)] {
        let mut out = Vec::new();
        let screen = Screen { columns, ..Screen::default() };
        screen.table(&["NODECLAIM", "NODE", "MESSAGE"], &rows, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("message:") && !text.contains("\n\n"), "{columns:?}:\n{text}");
    }
}

#[test]
fn words_that_are_longer_than_the_window_are_folded() {
    let screen = Screen { columns: Some(6), ..Screen::default() };
    let title = |text: &str| {
        let mut out = Vec::new();
        screen.title(text, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(title("a-very-long-word b"), "a-very\n-long-\nword b\n");
    assert_eq!(title(""), "\n");
}

#[test]
fn names_of_nodes_are_short_in_narrow_windows() {
    let of = |columns| Screen { columns, ..Screen::default() }.with_short_nodes();
    let name = "ip-10-0-0-5.us-west-2.compute.internal";
    assert_eq!(of(Some(80)).shown(name), "ip-10-0-0-5");
    let text = format!("node {name}, ({name}: {name}.) ip-10-0-0-6.ec2.internal");
    let short = "node ip-10-0-0-5, (ip-10-0-0-5: ip-10-0-0-5.) ip-10-0-0-6";
    assert_eq!(of(Some(80)).shown(&text), short);
    assert_eq!(of(Some(120)).shown(name), name);
    // In a pipe names are whole: programs read them.
    assert_eq!(of(None).shown(name), name);
    for other in ["node.example.com", "a.compute.internals", ".", ""] {
        assert_eq!(of(Some(80)).shown(other), other);
    }
    let whole = Screen { columns: Some(80), ..Screen::default() };
    assert_eq!(whole.shown(name), name);
    let mut out = Vec::new();
    of(Some(30)).table(&["NODE", "PODS"], &[vec![name.to_owned(), "3".into()]], &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "  NODE         PODS\n  ip-10-0-0-5  3\n");
}

#[test]
fn a_window_that_cannot_show_all_shows_the_answer_at_its_end() {
    let written = |rows| {
        let mut out = Vec::new();
        let screen = Screen { rows, ..Screen::default() };
        screen.with_answer_last(b"answer\na\nb\n", b"  answer\n", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(written(Some(4)), "answer\na\nb\n");
    assert_eq!(written(None), "answer\na\nb\n");
    assert_eq!(written(Some(3)), "answer\na\nb\n\nSummary\n  answer\n");
}

#[test]
fn a_narrow_window_goes_without_spared_columns_and_says_so() {
    let row = ["general-x7k2p", "c7i-flex.8xlarge", "us-west-2a", "5m"];
    let shown = |columns| {
        let screen = Screen { columns: Some(columns), ..Screen::default() };
        let mut out = Vec::new();
        let rows = vec![row.map(str::to_owned).into()];
        let spared: (&[&str], &str) = (&["ZONE", "AGE"], "-o wide");
        screen.sparing_table(&["NAME", "TYPE", "ZONE", "AGE"], rows, spared, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let wide = shown(60);
    assert!(wide.contains("ZONE") && !wide.contains("no room"), "{wide}");
    assert_eq!(
        shown(44),
        "  NAME           TYPE              AGE\n  general-x7k2p  c7i-flex.8xlarge  5m\n\
         no room for ZONE: -o wide shows all columns\n"
    );
}
