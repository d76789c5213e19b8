//! What PyTorch's allocator does, drawn as text. Each expectation follows from the allocator's source by hand; the
//! names are the claims.

mod expandable;
mod options;
mod placing;
mod pressure;

use expect_test::Expect;
use oomph_testkit::script::On;
use oomph_trace::Bytes;

fn check(script: &str, expected: Expect) {
    check_on(&On::torch(11), script, expected);
}

#[expect(clippy::needless_pass_by_value, reason = "so that a call reads `expect![…]`")]
fn check_on(on: &On, script: &str, expected: Expect) {
    match on.draw(script) {
        Ok(drawn) => expected.assert_eq(&drawn),
        Err(problem) => panic!("{problem}"),
    }
}

fn mib(n: u64) -> Bytes {
    Bytes::mib(n)
}

fn expandable() -> On {
    On::torch(11).conf("expandable_segments:True")
}
