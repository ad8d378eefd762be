//! Pages that repeat what the code says must say the same.

use std::path::{Path, PathBuf};

use jackline_runtime::machine::draw;

#[test]
fn architecture_shows_the_machine_as_it_is() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let expected = with_machine(&page);
    if page != expected {
        let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ARCHITECTURE.md");
        std::fs::write(&fresh, expected).unwrap();
        panic!("ARCHITECTURE.md does not show the machine as it is; a fresh copy is {}", fresh.display());
    }
}

/// The scenario that the README shows.
#[tokio::test]
async fn the_scenario_of_the_readme_passes() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = page.split_once("## Scenarios\n\n```yaml\n").expect("the section begins with a scenario");
    let (text, _) = rest.split_once("```").unwrap();
    let scenario = jackline_scenario::Scenario::parse(text, "README.md").unwrap();
    let outcome = jackline_scenario::run(&scenario).await;
    assert!(outcome.is_passed(), "{outcome}");
}

fn with_machine(page: &str) -> String {
    let drawing = format!("```mermaid\n{}```\n", draw::mermaid());
    replace(&replace(page, "machine:mermaid", &drawing), "machine:table", &draw::table())
}

/// Replaces what stands between the two marks.
fn replace(page: &str, mark: &str, content: &str) -> String {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let (before, rest) = page.split_once(&open).expect("the page has the opening mark");
    let (_, after) = rest.split_once(&close).expect("the page has the closing mark");
    format!("{before}{open}\n{content}\n{close}{after}")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
