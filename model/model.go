package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/deepagents-go/deepagents/message"
)

// Model is a language model. It is safe for concurrent use.
type Model interface {
	// Name returns "provider:model".
	Name() string
	// Stream asks the model. The sequence is ranged once; it ends after a Delta with Finish, or with an [*Error]. Breaking out
	// of the range, or ending the context, ends the request.
	Stream(ctx context.Context, r *Request) iter.Seq2[Delta, error]
}

// Request is what a model sees. Nobody changes a request once it is sent.
type Request struct {
	// System is the system message's parts; empty means that no system message is sent at all.
	System message.Parts
	// Messages are the conversation without the system message. The slice is shared: do not change it.
	Messages []*message.Message
	Tools    []Tool
	// Choice is "" (the model chooses), "any" (some tool must be called), "none", or the name of the tool to call.
	Choice string
	// Schema, when set, is the JSON Schema that the answer must match, and SchemaName its name.
	Schema     json.RawMessage
	SchemaName string
	Settings   Settings
	// Agent is the name of the agent that asks.
	Agent string
	// Attempt counts the requests for one turn, from 1.
	Attempt int
}

// Tool is a tool as a model sees it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
}

// Settings are the knobs of a request. A nil pointer or a zero leaves the provider's default.
type Settings struct {
	Temperature *float64 `json:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Effort      string   `json:"effort,omitempty"`
}

// Profile says what a model can do.
type Profile struct {
	// Window is the context size in tokens, MaxOutput the longest answer; 0 means unknown.
	Window, MaxOutput int
	// Image, Audio, Video and PDF say which media the model takes in prompts; ToolMedia, which in tool results.
	Image, Audio, Video, PDF, ToolMedia bool
	// Caching says that the provider wants cache marks ([message.Text.Cache]).
	Caching bool
	// Structured says that the provider enforces Request.Schema.
	Structured bool
	// PriceInput and PriceOutput are dollars for a million tokens; 0 means unknown.
	PriceInput, PriceOutput float64
}

// Profiler is a model that knows its profile.
type Profiler interface{ Profile() Profile }

// Unwrapper is a model around another.
type Unwrapper interface{ Unwrap() Model }

// ProfileOf returns the profile of a model, found through wrappers.
func ProfileOf(m Model) (Profile, bool) {
	for range 16 {
		if p, ok := m.(Profiler); ok {
			return p.Profile(), true
		}
		u, ok := m.(Unwrapper)
		if !ok {
			break
		}
		m = u.Unwrap()
	}
	return Profile{}, false
}

// Finish says why an answer ended.
type Finish string

// The reasons.
const (
	Stop      Finish = "stop"
	ToolCalls Finish = "tool_calls"
	// Length means that the output limit cut the answer. A tool call that was cut is never executed.
	Length  Finish = "length"
	Refusal Finish = "refusal"
)

// Delta is a piece of an answer. A delta carries one thing; its zero fields mean nothing.
type Delta struct {
	// Text and Reasoning go on where the last delta of their kind stopped.
	Text      string
	Reasoning string
	// Call begins or goes on with a tool call.
	Call *CallDelta
	// Part is a whole part that needs no assembly (opaque blocks, media). A [message.Reasoning] without text gives its Provider
	// and Opaque to the reasoning that was streamed just before it.
	Part message.Part
	// Usage replaces what was reported before.
	Usage *message.Usage
	// Finish, when set, is the last delta.
	Finish Finish
	// MessageID is the provider's id of the answer.
	MessageID string
}

// CallDelta is a piece of a tool call. Index tells parallel calls apart.
type CallDelta struct {
	Index int
	// ID and Name come with the first piece.
	ID, Name string
	// Args is the next piece of the arguments' text.
	Args string
	// Provider and Opaque are as in [message.ToolCall].
	Provider string
	Opaque   json.RawMessage
}
