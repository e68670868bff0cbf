package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// API is one of the two APIs.
type API string

// The APIs.
const (
	// Chat is Chat Completions, which nearly every server speaks.
	Chat API = "chat"
	// Responses is OpenAI's newer API.
	Responses API = "responses"
)

// Options say which model is opened and how. Only Model is needed.
type Options struct {
	// Model is the provider's name of the model.
	Model string
	// Provider is the first half of [Model.Name], and whose reasoning goes back; empty means "openai".
	Provider string
	// API is Chat when empty.
	API API
	// BaseURL is the address up to what follows /v1; empty means https://api.openai.com/v1.
	BaseURL string
	// Key is sent as a bearer token; empty means that none is sent. No environment variable is read.
	Key string
	// Headers are sent with every request.
	Headers map[string]string
	// AgentHeader names a header in which [model.Request].Agent is sent; empty means none. A local script server wants it.
	AgentHeader string
	// Timeout is the longest silence: until the response begins, and between two pieces of it. 0 means 5 minutes, less than 0
	// no limit.
	Timeout time.Duration
	// Retries is how often a request is sent again from which nothing came yet; 0 means 2, less than 0 never. The wait is what
	// the server asks for, up to two minutes, else it grows from half a second.
	Retries int
	// Store lets the Responses API keep the answers on the server.
	Store bool
	// Summary asks the Responses API for summaries of the reasoning: "auto", "concise" or "detailed". Empty means none;
	// organisations that OpenAI has not verified may not ask.
	Summary string
	// Profile says what the model takes; nil means images and PDF documents, and schemas.
	Profile *model.Profile
	Quirks  Quirks
	// Rules give errors of this provider their kind, before the general ones.
	Rules []Rule
	// HTTPClient sends the requests; nil means http.DefaultClient.
	HTTPClient *http.Client
	// Client are options of the SDK that come last: Azure, Bedrock, other authentication.
	Client []option.RequestOption
}

// Rule gives an error its kind, by its status and a text that is found in its code, type or message.
type Rule = provider.Rule

// Quirks are what servers do differently. The zero value is OpenAI's own behaviour.
type Quirks struct {
	// MaxTokens sends max_tokens instead of max_completion_tokens.
	MaxTokens bool
	// RawArguments sends broken arguments of a call back as the model wrote them.
	RawArguments bool
	// ShortCallIDs sends call ids of nine letters and digits (Mistral takes no others).
	ShortCallIDs bool
	// SystemFirst sends system messages that are not the first as user messages.
	SystemFirst bool
	// DropReasoning sends no reasoning back.
	DropReasoning bool
	// ReasoningField is a field that every assistant message must have, empty when there is no reasoning to put in it (DeepSeek
	// wants reasoning_content).
	ReasoningField string
	// NoUsage leaves stream_options out, for servers that refuse it.
	NoUsage bool
	// NoEffort leaves the effort out.
	NoEffort bool
	// JSONObject asks for any JSON object where the request has a schema, for servers that know no schemas.
	JSONObject bool
	// AnyIsRequired is what [model.Request].Choice "any" becomes; empty means "required".
	AnyIsRequired string
	// Reasons says whether the model reasons, when its name does not tell: it then gets no temperature from OpenAI and is asked
	// for encrypted reasoning.
	Reasons *bool
	// Body are fields that go into every body, as JSON values.
	Body map[string]any
}

// Model is a model behind one of the two APIs. It is safe for concurrent use.
type Model struct {
	o       Options
	client  sdk.Client
	profile model.Profile
	reasons bool
	rules   []provider.Rule
	cache   provider.Cache[piece]
	extra   []byte // Quirks.Body as ,"k":v
}

const (
	defaultBaseURL = "https://api.openai.com/v1"
	defaultTimeout = 5 * time.Minute
	defaultRetries = 2
)

// New returns a model. Nothing is sent before [Model.Stream].
func New(o Options) (*Model, error) {
	if o.Model == "" {
		return nil, errors.New("openai: Options.Model is empty")
	}
	if o.Provider == "" {
		o.Provider = "openai"
	}
	switch o.API {
	case "":
		o.API = Chat
	case Chat, Responses:
	default:
		return nil, fmt.Errorf("openai: Options.API is %q, want %q or %q", o.API, Chat, Responses)
	}
	if o.BaseURL == "" {
		o.BaseURL = defaultBaseURL
	}
	if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("openai: Options.BaseURL %q is no http or https address", o.BaseURL)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Retries == 0 {
		o.Retries = defaultRetries
	}
	extra, err := encodeFields(o.Quirks.Body)
	if err != nil {
		return nil, fmt.Errorf("openai: Quirks.Body: %w", err)
	}
	m := &Model{
		o: o, extra: extra, reasons: reasons(o.Model),
		profile: model.Profile{Image: true, PDF: true, ToolMedia: true, Structured: !o.Quirks.JSONObject},
		rules:   slices.Concat(o.Rules, provider.General()),
	}
	if o.Profile != nil {
		m.profile = *o.Profile
	}
	if o.Quirks.Reasons != nil {
		m.reasons = *o.Quirks.Reasons
	}
	m.client = sdk.Client{Options: m.clientOptions()} // not NewClient: it would send OPENAI_API_KEY to any server
	return m, nil
}

func (m *Model) clientOptions() []option.RequestOption {
	o := m.o
	client := o.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithHTTPClient(client), option.WithMaxRetries(max(0, o.Retries)),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	for k, v := range o.Headers {
		opts = append(opts, option.WithHeader(k, v))
	}
	return append(opts, o.Client...)
}

// reasons tells from the name whether a model of OpenAI reasons.
func reasons(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.ToLower(name)
	if strings.Contains(name, "-chat") {
		return false // gpt-5-chat-latest does not
	}
	for _, p := range []string{"gpt-5", "gpt-6", "gpt-oss", "codex", "computer-use"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return len(name) > 1 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9'
}

// Name returns "provider:model".
func (m *Model) Name() string { return m.o.Provider + ":" + m.o.Model }

// Profile returns Options.Profile or the default one.
func (m *Model) Profile() model.Profile { return m.profile }
