//! The configuration of a run, frozen by its hash.

use jackline_model::ConfigHash;
use jackline_tools::arguments::canonical_json;
use sha2::{Digest, Sha256};

use super::config::AgentConfig;

impl AgentConfig {
    /// The configuration as JSON: keys sorted, defaults filled in, no blanks. Two files that mean
    /// the same have the same text. It names variables that hold secrets, and no value of one.
    pub fn canonical_json(&self) -> String {
        let value = serde_json::to_value(self).expect("every key of the configuration is text, every number is finite");
        canonical_json(value)
    }

    /// The SHA-256 of [`canonical_json`](Self::canonical_json), in hexadecimal digits. An operation
    /// is resumed only with the configuration that it was started with.
    pub fn hash(&self) -> ConfigHash {
        let digest = Sha256::digest(self.canonical_json().as_bytes());
        ConfigHash::new(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::{AgentConfig, AgentFile};

    fn read(text: &str) -> AgentConfig {
        AgentFile::parse(text, "agent.toml").unwrap()
    }

    #[test]
    fn same_meaning_has_the_same_hash_and_another_has_not() {
        let one = read("name = \"a\"\nscript = \"s\"\n");
        let other = read("# a comment\nscript = 's'\nname = 'a'\n[limits]\nmax_steps = 100\n");
        assert_eq!(one.hash(), other.hash());
        assert_eq!(one.hash().as_str().len(), 64);
        assert_ne!(one.hash(), read("name = \"a\"\nscript = \"s\"\n[limits]\nmax_steps = 99\n").hash());
    }

    #[test]
    fn canonical_text_reads_back_as_the_same_configuration() {
        let text = "name = \"a\"\nmodel = \"m\"\n[[command_tool]]\nname = \"a/b\"\ndescription = \"d\"\n\
                    command = [\"x\"]\napproval = { dynamic = { type = \"scope\" } }\n[limits]\nmax_cost = 0.1\n";
        let config = read(text);
        let again: AgentConfig = serde_json::from_str(&config.canonical_json()).unwrap();
        assert_eq!(again, config);
        assert_eq!(again.hash(), config.hash());
    }
}
