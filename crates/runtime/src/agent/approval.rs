//! The section `[approval]`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::ApprovalMode;

/// When a person is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSection {
    /// Who is there to approve: `manual`, `allow-list`, `auto-run` or `headless`.
    #[schemars(extend("enum" = ["manual", "allow-list", "auto-run", "headless"]), with = "String")]
    pub mode: ApprovalMode,
    /// Tools, as `identifier/apiName`, that need no approval in the mode `allow-list`.
    pub allow_list: BTreeSet<String>,
}
