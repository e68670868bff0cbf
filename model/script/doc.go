// Package script is a model that plays answers from a file: JSON lines, one assistant turn each. It serves tests, demos and
// replays of real threads; no AI runs and nothing is remembered between requests.
//
// # Which line plays
//
// Only lines whose agent is the one that asks count ("main" when neither says). Among these, a line with when opens a block
// that lasts to the next when; lines before the first when are a block that is always eligible. A block is eligible while the
// newest user text contains its when. Each turn plays the next unplayed line of the first eligible block, in file order, that
// has one. When none has, the error is [Exhausted].
//
// The position is not a counter: it is found in the conversation, by repeating the choice for every assistant message that the
// thread holds (of this agent, or of no named one), each with the user text that was the newest then. A thread that is resumed, forked or rewound therefore goes
// on at the right line, in any process.
//
// # Error lines
//
// A turn that ends in an error leaves no assistant message, so lines with error do not take part in the position. They stand
// before the answer that follows them: the first request of the turn gets the first of them, a retry
// ([model.Request].Attempt 2) the second, and the request after the last gets the answer. A run that gave up and is resumed
// begins with attempt 1 and meets the errors again. A cut answer that was stored all the same (an assistant message without a
// finish) counts as the error line it came from.
package script
