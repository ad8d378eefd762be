//! No row of these themes is without a test here.

/// The rows of the themes ARGS, IDS, STREAM, COMPAT and ERRORS.
const ROWS: [&str; 37] = [
    "c001", "c003", "c004", "c005", "c008", "c011", "c012", "c013", "c017", "c018", "c019", "c020", "c022", "c023",
    "c025", "c026", "c027", "c029", "c031", "c033", "c034", "c036", "c037", "c039", "c041", "c043", "c045", "c046",
    "c048", "c050", "c052", "c053", "c136", "c137", "c140", "c142", "c145",
];

const SOURCES: [&str; 5] = [
    include_str!("args.rs"),
    include_str!("compat.rs"),
    include_str!("errors.rs"),
    include_str!("ids.rs"),
    include_str!("stream.rs"),
];

#[test]
fn every_row_has_a_test_of_its_own() {
    let is_tested = |row: &str| {
        let start = format!("#[tokio::test]\nasync fn {row}_");
        SOURCES.iter().any(|source| source.contains(&start))
    };
    let missing: Vec<&str> = ROWS.into_iter().filter(|row| !is_tested(row)).collect();
    assert!(missing.is_empty(), "rows without a test: {missing:?}");
}
