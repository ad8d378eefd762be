//! Turns with many calls.

use jackline_model::{MessageBody, Role, ToolRunResult};
use jackline_runtime::machine::limits::CALLS_PER_TURN_MAX;

use crate::support::{Fixed, Turns, agent, builder, says};

#[tokio::test]
async fn calls_beyond_the_limit_are_neither_run_nor_stored() {
    let calls = vec![("test____tell", "{}"); CALLS_PER_TURN_MAX + 5];
    let mut many = says("", &calls);
    // Cut off: the call that may be incomplete is the last one written, which is not among those that stay.
    many.finish = jackline_runtime::llm::FinishReason::Length;
    let turns = Turns::new([many, says("Done.", &[])]);
    let runtime = builder(&turns).tool(Fixed::new(ToolRunResult::ok("told"))).build().unwrap();
    let run = runtime.start(&agent(), "go", jackline_hooks::Hooks::new()).unwrap();
    let report = run.wait().await.unwrap();

    assert_eq!(report.answer.as_deref(), Some("Done."));
    assert_eq!(report.totals.tool_calls, CALLS_PER_TURN_MAX as u64);
    let messages = runtime.store().messages(run.id()).unwrap();
    let asked = messages.iter().find_map(|stored| match &stored.message.body {
        MessageBody::Assistant { tool_calls, .. } => Some(tool_calls.len()),
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => None,
    });
    assert_eq!(asked, Some(CALLS_PER_TURN_MAX));
    let results = messages.iter().filter(|stored| stored.message.role() == Role::Tool);
    let told = results.filter(|stored| stored.message.body.tool_result().is_some_and(|result| result.success));
    assert_eq!(told.count(), CALLS_PER_TURN_MAX);
}
