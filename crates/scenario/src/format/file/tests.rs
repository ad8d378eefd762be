use super::*;

fn error(text: &str) -> String {
    Scenario::parse(text, "a.yaml").unwrap_err().to_string()
}

#[test]
fn probe() {
    for text in [
        "about: x\ninput: hi\nturns:\n- reply: {txet: hello}\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nturns:\n- reply: {text: hello}\n  hang: true\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nturns:\n- reply: {text: [1]}\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nexpect: {reason: dnoe}\n",
        "about: x\ninput: hi\nagent: {steps_max: ten}\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nhooks:\n- on: beforeStp\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nhooks:\n- on: beforeStep\n  answers: [okk]\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nhooks:\n- on: beforeStep\n  answers: [{dney: x}]\nexpect: {reason: done}\n",
        "about: x\ninput: hi\nfaults:\n- {crash_before: s1.x}\nexpect: {reason: done}\n",
        "about: x\nexpect: {}\n",
        "about: x\n  input: [\n",
        "{\"about\": 3, \"input\": \"x\", \"expect\": {}, \"zzz\": 1}",
        "",
    ] {
        println!("{}", error(text));
    }
}
