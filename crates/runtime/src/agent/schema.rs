//! The JSON Schema of agent files, for editors.

use serde_json::Value;

use super::config::AgentConfig;

/// The JSON Schema of an agent file.
pub fn schema() -> Value {
    schemars::schema_for!(AgentConfig).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentFile;

    #[test]
    fn the_schema_agrees_with_the_reader() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for (text, is_right) in [
            ("name = 'a'\nmodel = 'm'", true),
            ("name = 'a'\n[model]\nname = 'm'\nprices = {input_per_million = 1, output_per_million = 2}", true),
            (
                "name = 'a'\n[[command_tool]]\nname = 'a/b'\ndescription = 'd'\ncommand = ['x']\nside_effect = 'pure'",
                true,
            ),
            ("name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onComplete'\ncommand = ['x']", true),
            (
                "name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onComplete'\nwebhook = {url = '/x', timeout = 0.5, delay = 3, \
                 delivery = 'qstash'}",
                true,
            ),
            ("name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onFinish'\ncommand = ['x']", false),
            ("name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onComplete'\ncommand = {program = 'x'}", false),
            ("name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onComplete'\nwebhook = {url = '/x', timeout = 0}", false),
            ("name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onComplete'\nwebhook = {url = '/x', onError = 'stop'}", false),
            ("name = 'a'\n[[hook]]\nid = 'h'\ntype = 'onComplete'\nwebhook = {url = '/x', retry = 1}", false),
            ("model = 'm'", false),
            ("name = 'a'\nmodle = 'm'", false),
            ("name = 'a'\n[model]\nname = 'm'\nwindow = 3", false),
            ("name = 'a'\n[limits]\nmax_steps = 0", false),
            ("name = 'a'\n[limits]\nmax_steps = 'ten'", false),
            ("name = 'a'\n[approval]\nmode = 'yolo'", false),
            ("name = 'a'\n[tools]\nbuiltin = ['shel']", false),
            ("name = 'a'\n[[command_tool]]\nname = 'a/b'\ndescription = 'd'\ncommand = []", false),
        ] {
            let value = serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
            assert_eq!(validator.is_valid(&value), is_right, "schema on {text}");
            assert_eq!(AgentFile::parse(text, "agent.toml").is_ok(), is_right, "reader on {text}");
        }
    }

    #[test]
    fn every_key_is_described_and_no_other_is_allowed() {
        let schema = schema();
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["required"], serde_json::json!(["name"]));
        for (key, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{key}");
        }
        let limits = &schema["$defs"]["Limits"]["properties"];
        assert_eq!(limits["max_steps"]["default"], 100);
        let modes = &schema["$defs"]["ApprovalSection"]["properties"]["mode"]["enum"];
        assert_eq!(*modes, serde_json::json!(["manual", "allow-list", "auto-run", "headless"]));
    }
}
