use std::sync::Arc;

use jackline_model::{ToolKey, ToolRunResult};
use serde_json::{Map, Value, json};

use super::{Registry, RegistryError};
use crate::{BoxFuture, Repair, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};

struct Quiet(ToolSpec);

impl Tool for Quiet {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, _: Map<String, Value>, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async { Ok(ToolRunResult::ok("").into()) })
    }
}

fn tool(key: &str, parameters: Value) -> Arc<dyn Tool> {
    let mut spec = ToolSpec::new(ToolKey::parse(key), "does nothing");
    spec.parameters = Arc::new(parameters);
    Arc::new(Quiet(spec))
}

#[test]
fn tools_are_found_by_key_and_by_wire_name() {
    let registry = Registry::builder().tool(tool("fs/read", json!({}))).build().unwrap();
    let key = registry.resolve("fs____read").unwrap();
    assert_eq!(registry.get(key).unwrap().spec().key, ToolKey::parse("fs/read"));
    assert_eq!(registry.wire_name(key), Some("fs____read"));
    assert!(registry.get(&ToolKey::parse("fs/write")).is_none());
}

#[test]
fn the_list_does_not_depend_on_the_order_of_registration() {
    let keys = ["web/search", "fs/read", "fs/edit"];
    let list = |keys: Vec<&str>| -> Vec<String> {
        let registry = Registry::builder().tools(keys.into_iter().map(|key| tool(key, json!({})))).build().unwrap();
        registry.iter().map(|(key, _)| key.to_string()).collect()
    };
    assert_eq!(list(keys.to_vec()), ["fs/edit", "fs/read", "web/search"]);
    assert_eq!(list(keys.into_iter().rev().collect()), list(keys.to_vec()));
}

#[test]
fn a_key_is_registered_once() {
    let twice = Registry::builder().tool(tool("fs/read", json!({}))).tool(tool("fs/read", json!({}))).build();
    assert_eq!(twice.unwrap_err(), RegistryError::Duplicate(ToolKey::parse("fs/read")));
}

#[test]
fn a_schema_that_cannot_be_compiled_is_refused_by_name() {
    let error = Registry::builder().tool(tool("fs/read", json!({"type": "objekt"}))).build().unwrap_err();
    assert!(error.to_string().contains("`fs/read`"), "{error}");
}

#[test]
fn c012_null_suits_a_tool_that_needs_nothing_and_no_other() {
    let needs = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let registry =
        Registry::builder().tool(tool("clock/now", json!({}))).tool(tool("notes/add", needs)).build().unwrap();
    let clock = registry.get(&ToolKey::parse("clock/now")).unwrap();
    let notes = registry.get(&ToolKey::parse("notes/add")).unwrap();

    let arguments = clock.arguments("null").unwrap();
    assert_eq!((arguments.object, arguments.repair), (Map::new(), Some(Repair::Absent)));
    assert!(notes.arguments("null").unwrap_err().to_string().contains("\"text\" is a required property"));
}

#[test]
fn c152_tools_without_a_schema_are_offered_beside_the_others() {
    let registry = Registry::builder()
        .tool(tool("a/null", Value::Null))
        .tool(tool("b/bare", json!({"type": "object"})))
        .tool(tool("c/empty", json!({"type": "object", "properties": {}, "required": []})))
        .build()
        .unwrap();
    for (_, entry) in registry.iter() {
        assert_eq!(entry.wire_schema(), json!({"type": "object", "properties": {}}));
        assert!(entry.arguments("").is_ok());
    }
}
