// Package gemini is model.Model on Google's Gemini API and on Vertex AI, through the official SDK. The SDK finds the address,
// authenticates and sends; requests are put together from the bytes of each message, encoded once, and answers are read from
// the bytes that came: the SDK's own types would turn arguments of calls into floating point numbers and lose Retry-After.
//
// # What goes over the wire
//
// Thoughts are streamed as reasoning. Signatures, on thoughts, calls and texts, go back where they stood, to the same provider
// only; a call that another provider made gets the value with which Google lets calls of others through, where the model wants
// a signature. Images, audio, video, PDF documents and texts are sent in prompts; in results of tools they are part of the
// result from Gemini 3 on, and follow the results before. All results of one turn are one content, in call order. Calls to which
// the service gave no id are counted. The counters of a stream are cumulative and counted once. Cache marks are left out: the
// service caches by itself.
//
// Settings.Effort sets the level of thinking from Gemini 3 on, a budget for 2.5 and nothing before. A schema together with
// tools is an error before Gemini 3, which the service refuses too.
//
// # What was never tried
//
// The package is tested against a local server that checks requests by the published rules. It was never run against the live
// service, nor on Vertex AI.
package gemini
