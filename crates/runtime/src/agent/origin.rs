//! The section `[origin]`.

use jackline_model::Origin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where runs of this agent come from. Hooks see what is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the field names are the documentation: each is the id of what it names")]
pub struct OriginSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

impl From<&OriginSection> for Origin {
    fn from(section: &OriginSection) -> Self {
        let section = section.clone();
        Self {
            agent_id: section.agent_id.map(Into::into),
            topic_id: section.topic_id,
            session_id: section.session_id,
            thread_id: section.thread_id.map(Into::into),
            group_id: section.group_id,
            task_id: section.task_id,
            workspace_id: section.workspace_id,
            document_id: section.document_id,
            source_message_id: section.source_message_id.map(Into::into),
            user_id: section.user_id.map(Into::into),
        }
    }
}
