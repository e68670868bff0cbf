package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/genai"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// Options say which model is opened and how. Model is needed, and Key unless the model is on Vertex AI.
type Options struct {
	// Model is the provider's name of the model.
	Model string
	// Provider is the first half of [Model.Name], and whose signatures go back; empty means "google_genai".
	Provider string
	// BaseURL is the address up to what precedes /v1beta; empty means https://generativelanguage.googleapis.com, or what
	// belongs to Location.
	BaseURL string
	// Key is sent in x-goog-api-key.
	Key string
	// Vertex says that the model is on Vertex AI, in Project and Location ("global" when empty). Without a key, the credentials
	// are those that Google's libraries find in the environment.
	Vertex            bool
	Project, Location string
	// Headers are sent with every request.
	Headers map[string]string
	// AgentHeader names a header in which [model.Request].Agent is sent; empty means none. A local script server wants it.
	AgentHeader string
	// Timeout is the longest silence: until the response begins, and between two pieces of it. 0 means 5 minutes, less than 0
	// no limit.
	Timeout time.Duration
	// Retries is how often a request is sent again from which nothing came yet and that may succeed later; 0 means 2, less than
	// 0 never. The wait is what the service asks for, up to two minutes, else it grows from half a second.
	Retries int
	// Profile says what the model takes; nil means what the name tells.
	Profile *model.Profile
	// Rules give errors their kind, before the package's own.
	Rules []provider.Rule
	// HTTPClient sends the requests; nil means http.DefaultClient, or one that has Google's credentials.
	HTTPClient *http.Client
}

// Model is a model behind the Gemini API. It is safe for concurrent use.
type Model struct {
	o       Options
	client  *genai.Client
	profile model.Profile
	version version
	rules   []provider.Rule
	cache   provider.Cache[piece]
	size    atomic.Int64 // of the last conversation
}

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	defaultTimeout = 5 * time.Minute
	defaultRetries = 2
)

// New returns a model. On Vertex AI without a key it looks for credentials; nothing else is sent before [Model.Stream]. A key
// that is missing and credentials that are not found are a [model.ErrAuth].
func New(ctx context.Context, o Options) (*Model, error) {
	if o.Model == "" {
		return nil, errors.New("gemini: Options.Model is empty")
	}
	o.Provider = cmp.Or(o.Provider, "google_genai")
	if u, err := url.Parse(o.BaseURL); o.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("gemini: Options.BaseURL is no http or https address")
	}
	if o.Key == "" && !o.Vertex {
		return nil, &model.Error{Kind: model.Auth, Provider: o.Provider, Err: errors.New("no API key was given")}
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Retries = cmp.Or(o.Retries, defaultRetries)
	m := &Model{o: o, version: versionOf(o.Model), rules: slices.Concat(o.Rules, rules(), provider.General())}
	m.profile = m.version.profile()
	if o.Profile != nil {
		m.profile = *o.Profile
	}
	var err error
	m.client, err = m.connect(ctx)
	return m, err
}

// connect makes the SDK's client, with a transport that keeps the bytes of the answers.
func (m *Model) connect(ctx context.Context) (*genai.Client, error) {
	c := genai.ClientConfig{
		APIKey: m.o.Key, Backend: genai.BackendGeminiAPI, HTTPClient: m.o.HTTPClient,
		HTTPOptions: genai.HTTPOptions{BaseURL: m.o.BaseURL, Headers: make(http.Header)},
	}
	for k, v := range m.o.Headers {
		c.HTTPOptions.Headers.Set(k, v)
	}
	switch {
	case m.o.Vertex:
		c.Backend, c.Project, c.Location = genai.BackendVertexAI, m.o.Project, m.o.Location
		if c.Project != "" {
			c.Location = cmp.Or(c.Location, "global")
		}
	case c.HTTPOptions.BaseURL == "":
		c.HTTPOptions.BaseURL = defaultBaseURL
	}
	if c.HTTPClient == nil && !m.o.Vertex {
		c.HTTPClient = http.DefaultClient
	}
	if c.HTTPClient == nil {
		// The SDK makes a client with credentials; it is taken over.
		found, err := genai.NewClient(ctx, &c)
		if err != nil {
			return nil, m.unconnected(err)
		}
		c = found.ClientConfig()
	}
	inner := *c.HTTPClient
	inner.Transport = keeper{cmp.Or(inner.Transport, http.DefaultTransport)}
	c.HTTPClient = &inner
	client, err := genai.NewClient(ctx, &c)
	if err != nil {
		return nil, m.unconnected(err)
	}
	return client, nil
}

// unconnected leaves out the configuration, which the SDK prints with its key.
func (m *Model) unconnected(err error) error {
	text, _, _ := strings.Cut(err.Error(), "ClientConfig:")
	return &model.Error{Kind: model.Auth, Provider: m.o.Provider, Err: errors.New(strings.TrimRight(text, " ."))}
}

// Name returns "provider:model".
func (m *Model) Name() string { return m.o.Provider + ":" + m.o.Model }

// Profile returns Options.Profile, or what the model's name tells.
func (m *Model) Profile() model.Profile { return m.profile }

// version is the number in a model's name, as 205 for 2.5. 0 means that the name holds none.
type version int

var versionPattern = regexp.MustCompile(`gemini-(\d+)(?:\.(\d+))?`)

const newest version = 9999

func versionOf(name string) version {
	if n := versionPattern.FindStringSubmatch(name); n != nil {
		major, _ := strconv.Atoi(n[1])
		minor, _ := strconv.Atoi(cmp.Or(n[2], "0"))
		return version(major*100 + minor)
	}
	if strings.Contains(name, "gemini-") {
		return newest // gemini-flash-latest
	}
	return 0
}

// three says that the model has levels of thinking, media in results and schemas beside tools, and wants signatures on calls.
func (v version) three() bool { return v >= 300 }

func (v version) profile() model.Profile {
	if v == 0 {
		return model.Profile{Image: true, Structured: true} // Gemma and others
	}
	p := model.Profile{
		Window: 1_048_576, MaxOutput: 8192, Image: true, Audio: true, Video: true, PDF: true, ToolMedia: true, Structured: true,
	}
	if v >= 205 {
		p.MaxOutput = 65_536
	}
	return p
}

// thinking returns the JSON of thinkingConfig for an effort, or "".
func (v version) thinking(effort string) string {
	if effort == "" || v < 205 {
		return ""
	}
	if v.three() {
		level := map[string]string{"none": "minimal", "xhigh": "high", "max": "high"}[effort]
		return fmt.Sprintf(`{"thinkingLevel":%q,"includeThoughts":true}`, cmp.Or(level, effort))
	}
	budget, ok := map[string]int{"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24_576}[effort]
	switch {
	case !ok:
		budget = -1 // as the model sees fit
	case budget == 0:
		return `{"thinkingBudget":0}`
	}
	return fmt.Sprintf(`{"thinkingBudget":%d,"includeThoughts":true}`, budget)
}
