// Package openai is model.Model on OpenAI's two APIs, Chat Completions and Responses, and on every server that speaks one of
// them, through the official SDK (github.com/openai/openai-go/v3: connections, retries, authentication, Azure, the event
// stream). Bodies are built here, from bytes that are kept per message, so that a long conversation costs little and its prefix
// is the same bytes in every turn.
//
// # What goes back
//
// Reasoning and blocks that only their provider understands go back byte for byte to the provider that made them
// ([Options].Provider) and to no other: encrypted items of Responses (which keeps nothing on the server unless Options.Store
// says so), reasoning_content, reasoning and reasoning_details of Chat servers in the field they came in. Calls with broken
// arguments go back with {} as arguments, because many servers parse them, unless Quirks.RawArguments is set. Results of tools
// follow their calls at once and in order, whatever the order in the conversation; in Chat their media follow in one user
// message after the last result of the turn. Media that the model does not take becomes a text that says so.
//
// # Never run against a live service
//
// Everything here was run against the local server of model/modeltest/wire and recorded error bodies only, never against
// OpenAI, Azure or any other live service.
package openai
