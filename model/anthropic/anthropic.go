package anthropic

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// Options say which model is opened and how. Only Model is needed.
type Options struct {
	// Model is the provider's name of the model.
	Model string
	// Provider is the first half of [Model.Name], and whose thinking goes back; empty means "anthropic".
	Provider string
	// BaseURL is the address up to what precedes /v1; empty means https://api.anthropic.com.
	BaseURL string
	// Key is sent in x-api-key, Token as a bearer token; empty ones are not sent. No environment variable is read.
	Key, Token string
	// Headers are sent with every request.
	Headers map[string]string
	// AgentHeader names a header in which [model.Request].Agent is sent; empty means none. A local script server wants it.
	AgentHeader string
	// MaxTokens is the longest answer of a request whose settings say none; 0 means what the model can, at most 32,000.
	MaxTokens int
	// NoCache leaves out the mark at the end of the conversation. Marks of [message.Text] are sent all the same.
	NoCache bool
	// MarkBlock puts that mark on the last block instead of on the request, for services that do not know the latter (Bedrock,
	// Vertex AI).
	MarkBlock bool
	// Timeout is the longest silence: until the response begins, and between two pieces of it. 0 means 5 minutes, less than 0
	// no limit.
	Timeout time.Duration
	// Retries is how often a request is sent again to which the provider did not answer yet, or with 408, 409, 429 or 5xx;
	// 0 means 2, less than 0 never. A wait of more than two minutes that the provider asks for is not waited: it is the
	// error's RetryAfter.
	Retries int
	// Profile says what the model takes; nil means what the name tells.
	Profile *model.Profile
	// Rules give errors their kind, before the package's own.
	Rules []provider.Rule
	// HTTPClient sends the requests; nil means http.DefaultClient.
	HTTPClient *http.Client
	// Client are options of the SDK that come last: Bedrock, Vertex AI, other authentication.
	Client []option.RequestOption
}

// Model is a model behind the Messages API. It is safe for concurrent use.
type Model struct {
	o       Options
	client  sdk.Client
	profile model.Profile
	version version
	rules   []provider.Rule
	cache   provider.Cache[piece]
	size    atomic.Int64 // of the last body
}

const (
	defaultBaseURL = "https://api.anthropic.com"
	defaultTimeout = 5 * time.Minute
	defaultRetries = 2
	// longestWait is the longest Retry-After that the client itself waits for.
	longestWait = 2 * time.Minute
)

// New returns a model. Nothing is sent before [Model.Stream].
func New(o Options) (*Model, error) {
	if o.Model == "" {
		return nil, errors.New("anthropic: Options.Model is empty")
	}
	o.Provider = cmp.Or(o.Provider, "anthropic")
	o.BaseURL = cmp.Or(o.BaseURL, defaultBaseURL)
	if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("anthropic: Options.BaseURL is no http or https address")
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Retries = cmp.Or(o.Retries, defaultRetries)
	m := &Model{o: o, version: versionOf(o.Model), rules: slices.Concat(o.Rules, rules(), provider.General())}
	m.profile = m.version.profile()
	if o.Profile != nil {
		m.profile = *o.Profile
	}
	m.client = sdk.Client{Options: m.clientOptions()} // not NewClient, which reads the environment
	return m, nil
}

func (m *Model) clientOptions() []option.RequestOption {
	o := m.o
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(o.BaseURL), option.WithHTTPClient(cmp.Or(o.HTTPClient, http.DefaultClient)),
		option.WithMaxRetries(max(0, o.Retries)), option.WithHeader("Accept", "text/event-stream"),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	if o.Token != "" {
		opts = append(opts, option.WithAuthToken(o.Token))
	}
	for k, v := range o.Headers {
		opts = append(opts, option.WithHeader(k, v))
	}
	return append(opts, o.Client...)
}

// Name returns "provider:model".
func (m *Model) Name() string { return m.o.Provider + ":" + m.o.Model }

// Profile returns Options.Profile, or what the model's name tells.
func (m *Model) Profile() model.Profile { return m.profile }

// version is the number in a model's name, as 406 for 4.6. 0 means that the name holds none.
type version int

// versionPattern finds 3 and 5 in claude-3-5-sonnet-20241022, 4 and 7 in us.anthropic.claude-opus-4-7-v1:0, 4 in
// claude-sonnet-4@20250514.
var versionPattern = regexp.MustCompile(`claude-(?:[a-z]+-)?(\d)(?:[-.](\d{1,2}))?(?:\D|$)`)

const newest version = 9999

func versionOf(name string) version {
	if n := versionPattern.FindStringSubmatch(name); n != nil {
		major, _ := strconv.Atoi(n[1])
		minor, _ := strconv.Atoi(cmp.Or(n[2], "0"))
		return version(major*100 + minor)
	}
	if regexp.MustCompile(`claude-[a-z]+`).MatchString(name) && !regexp.MustCompile(`claude-(instant|v?\d)`).MatchString(name) {
		return newest // a preview
	}
	return 0
}

// adaptive says that the model decides how much it thinks.
func (v version) adaptive() bool { return v >= 406 }

// samples says that the model takes a temperature.
func (v version) samples() bool { return v < 407 }

func (v version) profile() model.Profile {
	p := model.Profile{
		Window: 200_000, MaxOutput: 32_000, Image: true, PDF: true, ToolMedia: true, Caching: true, Structured: v == 0 || v >= 405,
	}
	switch {
	case v == 0:
		p.Window, p.MaxOutput = 0, 0
	case v < 305:
		p.MaxOutput = 4096
	case v < 307:
		p.MaxOutput = 8192
	case v == 307, v >= 405:
		p.MaxOutput = 64_000
	}
	return p
}

// maxTokens is the limit that the API wants to be told.
func (m *Model) maxTokens(r *model.Request) int {
	const most = 32_000
	switch {
	case r.Settings.MaxTokens > 0:
		return r.Settings.MaxTokens
	case m.o.MaxTokens > 0:
		return m.o.MaxTokens
	case m.profile.MaxOutput > 0:
		return min(m.profile.MaxOutput, most)
	}
	return 8192 // of a model that is not known, behind a compatible server
}

// thinkingTokens is the budget of an effort, for models that want one; 0 means that the model does not think.
func thinkingTokens(effort string) int {
	switch effort {
	case "", "none":
		return 0
	case "minimal":
		return 1024
	case "low":
		return 2048
	case "medium":
		return 8192
	case "high":
		return 16_384
	}
	return 24_576
}
