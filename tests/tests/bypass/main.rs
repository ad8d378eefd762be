//! Every way around the gate that we could think of, and the compiler's word that there is none.
//!
//! Two laws are kept by types. No output of a tool or a mock is stored, shown or sent before the
//! after-hooks have ruled: only the gate makes a `Publishable`, out of a `RawOutput` and the ruling
//! of the chain. And no call runs before the before-hooks have ruled: only the gate makes a
//! `Clearance`.

#![expect(clippy::unwrap_used, reason = "what fails in a helper of these tests fails the test")]

mod compiler;

use crate::compiler::refused;

#[test]
fn a_ruling_cannot_be_written_down() {
    refused(
        "E0451",
        "fn forge() -> Ruling<AfterVerdict> { Ruling { verdict: AfterVerdict::Keep, by: None } }",
        "fn hand_on(ruling: Ruling<AfterVerdict>) -> Ruling<AfterVerdict> { ruling }",
    );
}

#[test]
fn a_ruling_cannot_be_made_by_its_constructor() {
    refused(
        "E0624",
        "fn forge() -> Ruling<AfterVerdict> { Ruling::new(AfterVerdict::Keep, None) }",
        "fn look(ruling: &Ruling<AfterVerdict>) -> &AfterVerdict { ruling.verdict() }",
    );
}

#[test]
fn a_ruling_cannot_be_copied_and_used_for_another_output() {
    refused(
        "E0277",
        "fn copy(ruling: &Ruling<AfterVerdict>) { copies(ruling) }",
        "fn copy(ruling: &Ruling<AfterVerdict>) { copies(ruling.verdict()) }",
    );
}

#[test]
fn a_ruling_cannot_be_used_twice() {
    refused(
        "E0382",
        "fn twice(a: RawOutput, b: RawOutput, ruling: Ruling<AfterVerdict>) {
            gate::publish(a, ruling, 9);
            gate::publish(b, ruling, 9);
        }",
        "fn once(a: RawOutput, ruling: Ruling<AfterVerdict>) { gate::publish(a, ruling, 9); }",
    );
}

#[test]
fn a_ruling_cannot_be_read_from_a_record() {
    refused("E0277", "fn read() { reads::<Ruling<AfterVerdict>>() }", "fn read() { reads::<ToolRunResult>() }");
}

#[test]
fn raw_output_cannot_be_copied() {
    refused(
        "E0277",
        "fn copy(raw: &RawOutput) { copies(raw) }",
        "fn copy(published: &Publishable) { copies(published) }",
    );
}

#[test]
fn raw_output_cannot_be_serialized() {
    refused(
        "E0277",
        "fn write(raw: &RawOutput) { writes(raw) }",
        "fn write(published: &Publishable) { writes(published.result()) }",
    );
}

#[test]
fn raw_output_cannot_be_displayed() {
    refused(
        "E0277",
        r#"fn show(raw: &RawOutput) -> String { format!("{raw}") }"#,
        r#"fn show(raw: &RawOutput) -> String { format!("{raw:?}") }"#,
    );
}

#[test]
fn raw_output_cannot_be_published_and_kept() {
    refused(
        "E0382",
        "fn keep(raw: RawOutput, ruling: Ruling<AfterVerdict>) -> RawOutput { gate::publish(raw, ruling, 9); raw }",
        "fn publish(raw: RawOutput, ruling: Ruling<AfterVerdict>) { gate::publish(raw, ruling, 9); }",
    );
}

#[test]
fn what_an_after_control_sees_cannot_be_serialized() {
    refused(
        "E0277",
        "fn write(event: &AfterToolCallControl) { writes(event) }",
        "fn write(event: &AfterToolCallControl) { writes(&event.context) }",
    );
}

#[test]
fn what_an_after_control_sees_cannot_be_copied() {
    refused(
        "E0277",
        "fn copy(event: &AfterToolCallControl) { copies(event) }",
        "fn copy(event: &AfterToolCallControl) { copies(&event.context) }",
    );
}

#[test]
fn a_publishable_cannot_be_written_down() {
    refused(
        "E0451",
        "fn forge(result: ToolRunResult) -> Publishable { Publishable { result, denial: None, archived: None } }",
        "fn hand_on(published: Publishable) -> Publishable { published }",
    );
}

#[test]
fn a_publishable_cannot_be_made_of_a_result() {
    refused(
        "E0277",
        "fn forge(result: ToolRunResult) -> Publishable { result.into() }",
        "fn answer(result: ToolRunResult) -> ToolAnswer { result.into() }",
    );
}

#[test]
fn a_publishable_cannot_be_made_by_default_and_filled() {
    refused(
        "E0277",
        "fn forge() -> Publishable { fill() } fn fill<T: Default>() -> T { T::default() }",
        "fn forge() -> ToolRunResult { fill() } fn fill<T: Default>() -> T { T::default() }",
    );
}

#[test]
fn a_publishable_cannot_be_read_from_a_record() {
    refused("E0277", "fn read() { reads::<Publishable>() }", "fn read() { reads::<ToolRunResult>() }");
}

#[test]
fn a_publishable_cannot_be_changed_afterwards() {
    refused(
        "E0594",
        "fn change(published: &mut Publishable) { published.result().content = String::new(); }",
        "fn change(result: &mut ToolRunResult) { result.content = String::new(); }",
    );
}

#[test]
fn nothing_is_published_on_a_verdict_alone() {
    refused(
        "E0308",
        "fn publish(raw: RawOutput) { gate::publish(raw, AfterVerdict::Keep, 9); }",
        "fn publish(raw: RawOutput, ruling: Ruling<AfterVerdict>) { gate::publish(raw, ruling, 9); }",
    );
}

#[test]
fn the_inner_half_of_the_gate_is_closed() {
    for name in ["judged", "gated"] {
        let forbidden = format!("use jackline_runtime::tools::gate::{name};");
        refused("E0603", &forbidden, "use jackline_runtime::tools::gate::publish;");
    }
}

#[test]
fn the_machine_of_a_call_takes_no_verdict_without_its_ruling() {
    let program = |verdict: &str| {
        format!(
            "fn step(call: Call, out: &mut VecDeque<Effect>, before: Ruling<BeforeVerdict>, after: Ruling<AfterVerdict>) {{
                let _ = call.step({verdict}, out);
            }}"
        )
    };
    let allowed = program("In::AfterRuled(after, 9)");
    refused("E0308", &program("In::AfterRuled((AfterVerdict::Keep, None), 9)"), &allowed);
    refused("E0308", &program("In::BeforeRuled((BeforeVerdict::Proceed, None))"), &allowed);
}

#[test]
fn a_row_of_a_result_holds_nothing_but_a_publishable() {
    let program = |given: &str, published: &str| {
        format!(
            "fn row(place: u32, id: MessageId, call: ToolCallId, key: ToolKey, given: {given}) -> Row {{
                Row::Tool {{ place, id, call, key, published: Box::new({published}) }}
            }}"
        )
    };
    let allowed = program("Publishable", "given");
    for given in ["ToolRunResult", "RawOutput", "ToolAnswer"] {
        refused("E0308", &program(given, "given"), &allowed);
    }
}

#[test]
fn a_clearance_cannot_be_written_down() {
    refused(
        "E0451",
        "fn forge(call: ToolCall) -> Clearance { Clearance { call } }",
        "fn look(clearance: &Clearance) -> &ToolCall { clearance.call() }",
    );
}

#[test]
fn a_clearance_cannot_be_copied_and_used_for_a_second_run() {
    refused(
        "E0277",
        "fn copy(clearance: &Clearance) { copies(clearance) }",
        "fn copy(clearance: &Clearance) { copies(clearance.call()) }",
    );
}

#[test]
fn a_clearance_cannot_be_read_from_a_record() {
    refused("E0277", "fn read() { reads::<Clearance>() }", "fn read() { reads::<ToolCall>() }");
}

#[test]
fn nothing_is_cleared_on_a_verdict_alone() {
    refused(
        "E0308",
        "fn clear(call: ToolCall) { gate::clear(call, BeforeVerdict::Proceed); }",
        "fn clear(call: ToolCall, ruling: Ruling<BeforeVerdict>) { gate::clear(call, ruling); }",
    );
}

#[test]
fn no_effect_runs_a_call_without_its_clearance() {
    refused(
        "E0308",
        "fn run(call: ToolCall) -> Effect { Effect::RunTool(call) }",
        "fn run(clearance: Clearance) -> Effect { Effect::RunTool(clearance) }",
    );
}

#[test]
fn an_observer_cannot_mock() {
    let program = |verb: &str| {
        format!(
            "fn hooks() -> Hooks {{
                Hooks::new().{verb}(\"hook\", |call| async move {{ call.mock(ToolRunResult::ok(\"mocked\")); }}).into()
            }}"
        )
    };
    refused("E0599", &program("observe_before_tool_call"), &program("mock_before_tool_call"));
    refused("E0599", &program("after_tool_call"), &program("mock_before_tool_call"));
}

#[test]
fn an_observer_cannot_deny() {
    let program = |verb: &str| {
        format!("fn hooks() -> Hooks {{ Hooks::new().{verb}(\"hook\", |_| async {{ Decision::Allow }}).into() }}")
    };
    refused("E0277", &program("observe_before_tool_call"), &program("control_before_tool_call"));
    refused("E0277", &program("after_tool_call"), &program("control_after_tool_call"));
}

#[test]
fn a_control_cannot_mock() {
    let program = |verb: &str| {
        format!(
            "fn hooks() -> Hooks {{ Hooks::new().{verb}(\"hook\", |_| async {{ MockAnswer::PassThrough }}).into() }}"
        )
    };
    refused("E0277", &program("control_before_tool_call"), &program("mock_before_tool_call"));
}
