//! Schemas of arguments, in the dialect that a provider accepts.

use serde_json::{Map, Value, json};

use crate::llm::dialect::SchemaDialect;

/// The schema to send. The tool's own is never changed in place.
pub(crate) fn wire_schema(schema: &Value, dialect: SchemaDialect) -> Value {
    let mut wire = match schema {
        Value::Object(fields) => Value::Object(fields.clone()),
        // Missing, or no schema at all: the tool takes nothing that anybody described.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => json!({}),
    };
    if let Value::Object(fields) = &mut wire {
        complete(fields);
    }
    match dialect {
        SchemaDialect::Any => wire,
        SchemaDialect::NoTypeLists => without_type_lists(wire, 0),
    }
}

/// A whole request is refused if one schema has no type or no properties, or an empty `required`.
fn complete(fields: &mut Map<String, Value>) {
    fields.entry("type").or_insert_with(|| json!("object"));
    if fields["type"] == "object" {
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    if fields.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        fields.remove("required");
    }
}

fn without_type_lists(schema: Value, depth: usize) -> Value {
    let Value::Object(fields) = schema else { return schema };
    if depth > SCHEMA_NESTING_MAX {
        return Value::Object(fields);
    }
    let walked: Map<String, Value> = fields.into_iter().map(|(key, value)| walk_keyword(key, value, depth)).collect();
    match walked.get("type") {
        Some(Value::Array(_)) => split_types(walked),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) | None => {
            Value::Object(walked)
        }
    }
}

/// Goes into what holds schemas and into nothing else: a default or an example may look like one.
fn walk_keyword(key: String, value: Value, depth: usize) -> (String, Value) {
    let next = |schema| without_type_lists(schema, depth + 1);
    let value = match (key.as_str(), value) {
        ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(named)) => {
            Value::Object(named.into_iter().map(|(name, schema)| (name, next(schema))).collect())
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
            Value::Array(schemas.into_iter().map(next).collect())
        }
        ("items" | "additionalProperties" | "not" | "contains" | "if" | "then" | "else" | "propertyNames", schema) => {
            next(schema)
        }
        (_, other) => other,
    };
    (key, value)
}

/// Makes a branch of each type, with the keywords that belong to it; the others stay where they are.
fn split_types(mut fields: Map<String, Value>) -> Value {
    let Some(Value::Array(types)) = fields.remove("type") else { return Value::Object(fields) };
    let mut branches = Vec::new();
    for kind in types.iter().filter_map(Value::as_str) {
        let mut branch = Map::from_iter([("type".to_owned(), json!(kind))]);
        branch.extend(
            keywords_of(kind).iter().filter_map(|key| fields.get_key_value(*key)).map(|(k, v)| (k.clone(), v.clone())),
        );
        branches.push(Value::Object(branch));
    }
    let kinds = types.iter().filter_map(Value::as_str);
    for key in kinds.flat_map(keywords_of) {
        fields.remove(*key);
    }
    match (branches.len(), fields.remove("anyOf")) {
        (1, old) => {
            fields.extend(branches.pop().and_then(|only| only.as_object().cloned()).unwrap_or_default());
            fields.extend(old.map(|old| ("anyOf".to_owned(), old)));
        }
        (_, None) => {
            fields.insert("anyOf".to_owned(), Value::Array(branches));
        }
        (_, Some(old)) => {
            // Both must hold, so both go under `allOf`, beside what stands there.
            let mut all = fields.remove("allOf").and_then(|all| all.as_array().cloned()).unwrap_or_default();
            all.extend([json!({ "anyOf": old }), json!({ "anyOf": branches })]);
            fields.insert("allOf".to_owned(), Value::Array(all));
        }
    }
    Value::Object(fields)
}

/// The keywords that say something about one type only.
fn keywords_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "array" => &["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"],
        "object" => &[
            "properties",
            "patternProperties",
            "required",
            "additionalProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
        ],
        "string" => &["pattern", "format", "minLength", "maxLength"],
        "number" | "integer" => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        _ => &[],
    }
}

/// Deeper schemas are left as they are: no provider reads them anyway.
const SCHEMA_NESTING_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn c152_every_schema_is_an_object_with_properties() {
        let schemas = case(include_str!("../../../../../tests/cases/inputs/C152.schemas.json"));
        for schema in schemas.as_array().unwrap() {
            assert_eq!(wire_schema(schema, SchemaDialect::Any), json!({"type": "object", "properties": {}}));
        }
    }

    #[test]
    fn c154_default_sends_the_schema_unchanged() {
        let schema = case(include_str!("../../../../../tests/cases/inputs/C154.schema.json"));
        assert_eq!(wire_schema(&schema, SchemaDialect::Any), schema);
    }

    #[test]
    fn c154_switch_leaves_no_type_list_and_keeps_items_in_their_branch() {
        let schema = case(include_str!("../../../../../tests/cases/inputs/C154.schema.json"));
        let before = schema.clone();
        let wire = wire_schema(&schema, SchemaDialect::NoTypeLists);
        assert_eq!(schema, before);
        assert_eq!(wire["properties"]["a"], json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
        let array = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(wire["properties"]["b"], json!({"anyOf": [{"type": "null"}, array]}));
        assert_eq!(wire["properties"]["c"], schema["properties"]["c"]);
        assert_eq!(wire["required"], schema["required"]);
    }

    #[test]
    fn a_property_named_type_and_a_default_are_no_type_lists() {
        let schema = json!({
            "type": "object",
            "properties": {"type": {"type": ["string"], "default": {"type": ["x"]}, "description": "d"}},
        });
        let wire = wire_schema(&schema, SchemaDialect::NoTypeLists);
        let expected = json!({"type": "string", "default": {"type": ["x"]}, "description": "d"});
        assert_eq!(wire["properties"]["type"], expected);
    }

    #[test]
    fn type_list_beside_an_any_of_keeps_both() {
        let schema = json!({"type": ["string", "null"], "anyOf": [{"minLength": 1}, {"const": null}]});
        let wire = without_type_lists(schema, 0);
        assert_eq!(wire["allOf"].as_array().unwrap().len(), 2);
        assert!(wire.get("type").is_none());
    }
}
