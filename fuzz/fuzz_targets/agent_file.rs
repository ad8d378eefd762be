#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| jackline_fuzz_targets::agent_file(bytes));
