// Package wire is an HTTP server that speaks the wire formats of model providers and answers with any model.Model, usually a
// script: tests of the provider packages, demos without a key, and any program that can be pointed at such a server.
//
// The path tells the dialect (OpenAI Chat Completions at .../chat/completions, OpenAI Responses at .../responses,
// Anthropic Messages at .../messages, Gemini at ...:streamGenerateContent). Each dialect
// checks requests by rules as strict as the strictest server we know, and stricter: every call is answered once and in order,
// nothing is empty, nothing unknown is there. A request that breaks a rule is refused with status 400 in the dialect's form. What
// the rules are, and that the real services accept what this one accepts, rests on their documentation: no live service was asked.
//
// A dialect is a file or two: a value that implements dialect, added to the list in dialects.
package wire
