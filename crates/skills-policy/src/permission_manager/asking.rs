//! Questions to an approver.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use crate::{Answer, Approver, BoxError, PermissionDecision, Question};

/// Returns true if the approver can answer a question. One whose answer was given before the run did
/// not see the packages that the skill imports.
pub(super) fn can_answer(approver: &dyn Approver, question: &Question) -> bool {
    let mut asked = question.permissions();
    approver.can_respond_to_refusals() || !asked.any(PermissionDecision::is_undeclared_package)
}

/// Asks the approver. A panic in it denies this request instead of ending the host.
pub(super) async fn request_catching_panics(
    approver: &dyn Approver,
    question: &Question,
) -> Result<Option<Answer>, BoxError> {
    let panicked = |_| BoxError::from("it panicked");
    // Both can panic: the call that creates the future, and each poll.
    let mut response =
        catch_unwind(AssertUnwindSafe(|| approver.ask(question))).map_err(panicked)?;
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| response.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(payload) => Poll::Ready(Err(panicked(payload))),
        },
    )
    .await
}
