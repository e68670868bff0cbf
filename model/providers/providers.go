package providers

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/anthropic"
	"github.com/deepagents-go/deepagents/model/gemini"
	"github.com/deepagents-go/deepagents/model/openai"
	"github.com/deepagents-go/deepagents/model/script"
)

// Options are [model.OpenOptions].
type Options = model.OpenOptions

// Catalog returns every provider by its name. A key that an opener needs and does not find is a [model.ErrAuth] that names the
// variable.
func Catalog() model.Catalog {
	c := make(model.Catalog)
	for name, r := range table() {
		c[name] = func(ctx context.Context, m string, o Options) (model.Model, error) {
			return r.open(ctx, name, m, o, nil)
		}
	}
	return c
}

// Open opens a model by its spec: "provider:model", "script:FILE", or the bare name of a model whose beginning tells the
// provider. Names of providers may be written in any case, with "-" for "_", and by their usual other names. Only the first
// colon splits, and only after a provider. What cannot be understood is a [*model.SpecError] that lists what there is.
func Open(ctx context.Context, spec string, o Options) (model.Model, error) {
	provider, name, err := Split(spec)
	if err != nil {
		return nil, err
	}
	return Catalog()[provider](ctx, name, o)
}

// Split returns the provider, as [Catalog] names it, and the model of a spec.
func Split(spec string) (provider, name string, err error) {
	if before, after, ok := strings.Cut(spec, ":"); ok {
		p := normal(before)
		switch rows := table(); {
		case slices.Contains(unshipped(), p):
			return "", "", notHere(spec, p)
		case rows[p].dialect == "":
		case after == "":
			return "", "", &model.SpecError{Spec: spec, Text: fmt.Sprintf("model %q: there is no model after the colon", spec)}
		default:
			return p, after, nil
		}
	}
	lower := strings.ToLower(spec)
	for _, b := range beginnings() {
		if strings.HasPrefix(lower, b[0]) {
			if slices.Contains(unshipped(), b[1]) {
				return "", "", notHere(spec, b[1])
			}
			return b[1], spec, nil
		}
	}
	text := fmt.Sprintf("the provider of model %q cannot be told from its name: write provider:model", spec)
	if before, _, ok := strings.Cut(spec, ":"); ok {
		text = fmt.Sprintf("unknown model provider %q", before)
	}
	return "", "", &model.SpecError{Spec: spec, Text: text + "; this build has: " + names()}
}

// normal returns the name under which a provider stands in the table, if it does.
func normal(provider string) string {
	p := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(provider)), "-", "_")
	return cmp.Or(aliases()[p], p)
}

func notHere(spec, provider string) error {
	return &model.SpecError{Spec: spec, Text: fmt.Sprintf(
		"model %q: the provider %s is not in this build, which has: %s. A server that speaks OpenAI's Chat Completions is reached as openai:MODEL with a base URL",
		spec, provider, names(),
	)}
}

func names() string { return strings.Join(slices.Sorted(maps.Keys(table())), ", ") }

// Info describes a provider.
type Info struct {
	Name    string
	Dialect Dialect
	// BaseURL is the default address, empty where there is none.
	BaseURL string
	// Keys are the environment variables of the key, any of which is enough; BaseVars those of the address.
	Keys, BaseVars []string
	// Optional says that it works without a key; Local, that it is a server on this machine.
	Optional, Local bool
}

// List returns every provider, sorted by name.
func List() []Info {
	rows := table()
	list := make([]Info, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		r := rows[name]
		list = append(list, Info{
			Name: name, Dialect: r.dialect, BaseURL: r.baseURL, Keys: r.keys, BaseVars: r.baseVars,
			Optional: r.optional || len(r.keys) == 0, Local: r.local,
		})
	}
	return list
}

// open opens a model. client is nil outside of tests.
func (r row) open(ctx context.Context, provider, name string, o Options, client *http.Client) (model.Model, error) {
	if r.dialect == Script {
		m, err := script.Open(name)
		if err != nil {
			return nil, err // not m, which would be a Model that is not nil
		}
		return m, nil
	}
	key, variable, err := r.key(provider, o)
	if err != nil {
		return nil, err
	}
	base, err := r.base(provider, o)
	if err != nil {
		return nil, err
	}
	headers := maps.Clone(r.headers)
	if headers == nil {
		headers = make(map[string]string, len(o.Headers)+1)
	}
	maps.Copy(headers, openRouterHeaders(provider))
	maps.Copy(headers, o.Headers)
	var m model.Model
	switch r.dialect {
	case Chat, Responses:
		m, err = r.openAI(provider, name, base, key, headers, o, client)
	case Anthropic:
		a := anthropic.Options{
			Model: name, Provider: provider, BaseURL: base, Key: key, Headers: headers, MaxTokens: o.MaxTokens,
			Timeout: o.Timeout, Retries: o.Retries, HTTPClient: client,
		}
		if strings.HasSuffix(variable, "_TOKEN") {
			a.Key, a.Token = "", key
		}
		m, err = anthropic.New(a)
	case Gemini:
		m, err = gemini.New(ctx, gemini.Options{
			Model: name, Provider: provider, BaseURL: base, Key: key, Headers: headers, Timeout: o.Timeout, Retries: o.Retries, HTTPClient: client,
		})
	case Vertex:
		m, err = cloud{provider, name, base, headers, o, client}.vertex(ctx, key)
	case Bedrock:
		m, err = cloud{provider, name, base, headers, o, client}.bedrock(ctx, key)
	case Script:
	}
	if err != nil {
		return nil, err
	}
	return withDefaults(m, o), nil
}

func (r row) openAI(provider, name, base, key string, headers map[string]string, o Options, client *http.Client) (model.Model, error) {
	a := openai.Options{
		Model: name, Provider: provider, API: openai.API(r.dialect), BaseURL: base, Key: key, Headers: headers,
		Timeout: o.Timeout, Retries: o.Retries, Profile: r.profile, Quirks: r.quirks, HTTPClient: client,
	}
	// Servers that stand in for OpenAI speak the older API.
	if provider == "openai" && base != r.baseURL {
		a.API = openai.Chat
	}
	if r.keyHeader != "" && key != "" {
		a.Key = ""
		headers[r.keyHeader] = key
	}
	if provider == "openrouter" {
		a.Quirks.Body = openRouterBody()
	}
	return openai.New(a)
}

// key returns the key and the variable that it comes from. Where the address was given too, the server may want none.
func (r row) key(provider string, o Options) (key, variable string, err error) {
	if o.APIKey != "" {
		return o.APIKey, "", nil
	}
	for _, v := range r.keys {
		if key := os.Getenv(v); key != "" {
			return key, v, nil
		}
	}
	if len(r.keys) == 0 || r.optional || o.BaseURL != "" && r.dialect != Gemini {
		return "", "", nil
	}
	return "", "", &model.Error{Kind: model.Auth, Provider: provider, Err: fmt.Errorf("no API key: set %s", strings.Join(r.keys, " or "))}
}

// base returns the address.
func (r row) base(provider string, o Options) (string, error) {
	if o.BaseURL != "" {
		return strings.TrimRight(o.BaseURL, "/"), nil
	}
	for _, v := range r.baseVars {
		base := strings.TrimRight(os.Getenv(v), "/")
		switch {
		case base == "":
			continue
		case provider == "ollama":
			return ollamaBase(base), nil
		case provider == "azure_openai" && !strings.Contains(base, "/openai"):
			return base + "/openai/v1", nil
		}
		return base, nil
	}
	if r.baseURL == "" && len(r.baseVars) > 0 {
		return "", &model.SpecError{Spec: provider, Text: fmt.Sprintf("%s: no address: set %s", provider, strings.Join(r.baseVars, " or "))}
	}
	return r.baseURL, nil
}

// ollamaBase turns OLLAMA_HOST, which is a host, a host and a port, or an address, into the address of the API.
func ollamaBase(host string) string {
	if !strings.Contains(host, "://") {
		if !strings.Contains(host, ":") {
			host += ":11434"
		}
		host = "http://" + host
	}
	host = strings.Replace(host, "//0.0.0.0", "//127.0.0.1", 1) // where it listens, not where it is
	if !strings.HasSuffix(host, "/v1") {
		host += "/v1"
	}
	return host
}

// openRouterHeaders say which program asks. A variable that is set counts, also when it is empty.
func openRouterHeaders(provider string) map[string]string {
	if provider != "openrouter" {
		return nil
	}
	headers := make(map[string]string, 2)
	for _, h := range [][3]string{
		{"HTTP-Referer", "OPENROUTER_APP_URL", "https://github.com/deepagents-go/deepagents"},
		{"X-Title", "OPENROUTER_APP_TITLE", "deepagents"},
	} {
		value, set := os.LookupEnv(h[1])
		if !set {
			value = h[2]
		}
		if value != "" {
			headers[h[0]] = value
		}
	}
	return headers
}

// openRouterBody keeps requests from Azure, which loses the ids of reasoning between turns, unless the user wants it.
func openRouterBody() map[string]any {
	switch strings.ToLower(os.Getenv("DEEPAGENTS_OPENROUTER_ALLOW_AZURE")) {
	case "1", "true", "yes", "on":
		return nil
	}
	return map[string]any{"provider": map[string]any{"ignore": []string{"azure"}}}
}

// defaults fills the settings of requests.
type defaults struct {
	model.Model
	o Options
}

func withDefaults(m model.Model, o Options) model.Model {
	if o.Temperature == nil && o.MaxTokens == 0 {
		return m
	}
	return &defaults{m, o}
}

// Unwrap returns the model inside.
func (d *defaults) Unwrap() model.Model { return d.Model }

// Stream asks the model inside.
func (d *defaults) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	c := *r
	if c.Settings.Temperature == nil {
		c.Settings.Temperature = d.o.Temperature
	}
	c.Settings.MaxTokens = cmp.Or(c.Settings.MaxTokens, d.o.MaxTokens)
	return d.Model.Stream(ctx, &c)
}
