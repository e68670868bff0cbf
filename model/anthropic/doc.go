// Package anthropic is model.Model on Anthropic's Messages API, through the official SDK. The SDK signs, sends and repeats the
// requests; their bodies are put together from the bytes of each message, encoded once, so that what was sent before is sent
// again byte for byte and the provider's cache finds it.
//
// # What goes over the wire
//
// Thinking is streamed as reasoning and goes back with its signature, to the same provider only; redacted thinking and the
// blocks of Anthropic's own tools are kept as they came and go back as they came. Images, PDF documents and texts are sent in
// prompts and in tool results; audio and video become a text that says so. Cache marks become cache_control: at most four, the
// first and the last ones when there are more. The end of the conversation is marked as well, unless Options.NoCache says
// otherwise. Ids of calls that Anthropic would refuse, or has seen before, are replaced.
//
// Settings.Effort turns thinking on: adaptive for models from Claude 4.6 on, with a budget of tokens for older ones, and not at
// all for a request that forces a tool. While a model thinks it takes no temperature, and from Claude 4.7 on none at all; it is
// then left out.
//
// # What was never tried
//
// The package is tested against a local server that checks requests by the published rules. It was never run against the live
// service, nor on Bedrock or Vertex AI.
package anthropic
