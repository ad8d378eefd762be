//! Texts that must stand nowhere, and texts that must stand in the store.

use crate::run::World;

pub(super) fn check(world: &World, problems: &mut Vec<String>) {
    let expect = &world.script.expect;
    if expect.nowhere.0.is_empty() && expect.stored.0.is_empty() {
        return;
    }
    // The store shows all that it holds: messages, records, requests, inboxes, archive.
    let stored = format!("{:?}", world.store);
    let story = world.story();
    let streamed =
        serde_json::to_string(&story.stream.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap_or_default();
    let heard: String = story.heard.iter().map(|heard| heard.event.to_string()).collect();
    let places = [("the store", &stored), ("the stream", &streamed), ("what hooks heard", &heard)];
    for text in &expect.nowhere.0 {
        let quoted = format!("{text:?}");
        let escaped = quoted.trim_matches('"');
        // Quotes inside quotes are escaped twice in the records.
        let twice = format!("{escaped:?}");
        let forms = [text.as_str(), escaped, twice.trim_matches('"')];
        for (place, whole) in &places {
            if forms.iter().any(|form| whole.contains(form)) {
                problems.push(format!("`expect.nowhere`: {text:?} stands in {place}"));
            }
        }
    }
    for text in &expect.stored.0 {
        if !stored.contains(text.as_str()) {
            problems.push(format!("`expect.stored`: {text:?} stands nowhere in the store"));
        }
    }
}
