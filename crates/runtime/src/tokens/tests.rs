use std::sync::Arc;

use jackline_model::ToolKey;

use super::*;

fn message(body: MessageBody) -> Message {
    Message { id: "m".into(), body }
}

fn user(text: &str) -> Message {
    message(MessageBody::User { content: text.into() })
}

fn result(text: &str) -> Message {
    message(MessageBody::Tool {
        call_id: "call_1".into(),
        key: ToolKey::new("fs", "read"),
        content: text.into(),
        success: true,
        error: None,
        state: Some(json!({"never": "sent"})),
        execution_time: None,
        device_execution_time: None,
        work_registration: None,
    })
}

fn tools(count: usize) -> Vec<OfferedTool> {
    let tool = OfferedTool {
        wire_name: "fs____read".into(),
        description: "Reads a file.".into(),
        parameters: Arc::new(json!({"type": "object", "properties": {"path": {"type": "string"}}})),
    };
    vec![tool; count]
}

#[test]
fn cmp_14_and_c081_calls_results_and_definitions_are_counted() {
    let call = ToolCall { id: "call_1".into(), key: ToolKey::new("fs", "read"), arguments: "x".repeat(500).into() };
    let answer = |tool_calls| message(MessageBody::Assistant { content: "".into(), reasoning: None, tool_calls });
    let without = count_message(&ByteBound, &answer(vec![]));
    let with = count_message(&ByteBound, &answer(vec![call]));
    assert_eq!(with - without, 6 + 10 + 500 + CALL_OVERHEAD_TOKENS);

    assert_eq!(count_message(&ByteBound, &result(&"y".repeat(20_000))), 20_000 + 6 + MESSAGE_OVERHEAD_TOKENS);
    assert_eq!(count_tools(&ByteBound, &[]), 0);
    assert_eq!(count_tools(&ByteBound, &tools(30)), 30 * count_tools(&ByteBound, &tools(1)));
}

#[test]
fn cmp_14_reasoning_is_counted_and_a_tools_state_is_not() {
    let thinking =
        message(MessageBody::Assistant { content: "ab".into(), reasoning: Some("abcde".into()), tool_calls: vec![] });
    assert_eq!(count_message(&ByteBound, &thinking), 7 + MESSAGE_OVERHEAD_TOKENS);
    assert_eq!(count_message(&ByteBound, &result("")), 6 + MESSAGE_OVERHEAD_TOKENS);
}

#[test]
fn cmp_13_definitions_alone_can_pass_the_threshold() {
    let settings = crate::compress::ThresholdSettings { window: Some(8_000), ..Default::default() };
    let messages = count_message(&ByteBound, &user("hello"));
    assert!(!settings.exceeds(messages, false));
    assert!(settings.exceeds(messages + count_tools(&ByteBound, &tools(200)), false));
}

#[test]
fn pictures_cost_what_a_picture_costs_however_long_the_url() {
    let part = Part::Image { url: format!("data:image/png;base64,{}", "A".repeat(1_000_000)) };
    let picture = message(MessageBody::User { content: Content::Parts(vec![part]) });
    assert_eq!(count_message(&ByteBound, &picture), MEDIA_TOKENS + MESSAGE_OVERHEAD_TOKENS);
}

#[cfg(feature = "tokens")]
mod exact {
    use super::*;

    /// Text, then its tokens in `cl100k_base` (`gpt-4`) and `o200k_base` (`gpt-5`).
    const REFERENCE: [(&str, u64, u64); 6] = [
        ("これは日本語のテキストです。", 12, 9),
        ("이것은 한국어 문장입니다.", 12, 9),
        ("🔥🎉💯👩‍👩‍👧", 21, 13),
        ("hello world", 2, 2),
        ("<|endoftext|>", 7, 7),
        ("<|endoftext|> <|im_start|>system <|fim_prefix|> <|endofprompt|>", 25, 27),
    ];

    #[test]
    fn c082_and_c089_counts_equal_the_reference_and_special_names_are_text() {
        let (old, new) = (TiktokenCounter::for_model("gpt-4"), TiktokenCounter::for_model("gpt-5"));
        for (text, cl100k, o200k) in REFERENCE {
            assert_eq!((old.count_text(text), new.count_text(text)), (cl100k, o200k), "{text}");
        }
        let chinese = "你好世界".repeat(25);
        assert_eq!((old.count_text(&chinese), new.count_text(&chinese)), (125, 50));
    }

    #[test]
    fn c090_unknown_models_are_counted_with_the_fallback() {
        for (model, is_fallback) in
            [("gpt-5", false), ("openai/gpt-5", false), ("qwen3-coder-480b", true), ("my-finetune", true), ("", true)]
        {
            let counter = TiktokenCounter::for_model(model);
            assert_eq!((counter.count_text("hello world"), counter.is_fallback()), (2, is_fallback), "{model}");
        }
    }

    #[test]
    fn byte_bound_is_never_below_the_count() {
        let counter = TiktokenCounter::for_model("gpt-4");
        for (text, _, _) in REFERENCE {
            assert!(ByteBound.count_text(text) >= counter.count_text(text), "{text}");
        }
    }

    #[test]
    fn c081_definitions_count_as_their_json() {
        let counter = TiktokenCounter::for_model("gpt-5");
        let one = counter.count_text(
            r#"{"function":{"description":"Reads a file.","name":"fs____read","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}},"type":"function"}"#,
        );
        let thirty = count_tools(&counter, &tools(30));
        assert!(thirty.abs_diff(30 * one) * 5 <= 30 * one, "{thirty} against thirty times {one}");
    }
}
