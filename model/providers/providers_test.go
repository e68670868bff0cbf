package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/providers"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestMain(m *testing.M) {
	for _, p := range providers.List() { // the tests say what is set
		for _, v := range append(p.Keys, p.BaseVars...) {
			_ = os.Unsetenv(v)
		}
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // of Google's SDK, from init
}

// remote are the rows that a base URL leads to the local server.
func remote() []providers.Info {
	var rows []providers.Info
	for _, p := range providers.List() {
		if p.Dialect != providers.Script && p.Dialect != providers.Vertex && p.Dialect != providers.Bedrock {
			rows = append(rows, p)
		}
	}
	return rows
}

// names are models as the providers name them, where the local server cares.
func nameOf(p providers.Info) string {
	return map[providers.Dialect]string{providers.Anthropic: "claude-sonnet-4-5", providers.Gemini: "gemini-3-pro"}[p.Dialect] + "test"
}

// baseOf is the path that the row's own address has, at the local server.
func baseOf(p providers.Info, address string) string {
	if p.Dialect == providers.Gemini || p.Dialect == providers.Anthropic {
		return address
	}
	return address + "/v1"
}

func connect(t *testing.T, p providers.Info, h http.Handler, o providers.Options) model.Model {
	t.Helper()
	if p.Name == "openrouter" { // the local server does not know the field that keeps Azure out; TestOpenRouter is about it
		t.Setenv("DEEPAGENTS_OPENROUTER_ALLOW_AZURE", "true")
	}
	srv := httptest.NewServer(h)
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); srv.Close() })
	o.BaseURL = baseOf(p, srv.URL)
	if o.APIKey == "" {
		o.APIKey = "test-key"
	}
	if o.Retries == 0 {
		o.Retries = -1
	}
	m, err := providers.OpenWith(t.Context(), p.Name, nameOf(p), o, &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestConformance: every row passes the suite against the local server, with its quirks.
func TestConformance(t *testing.T) {
	for _, p := range remote() {
		t.Run(p.Name, func(t *testing.T) {
			modeltest.Run(t, modeltest.Options{New: func(t *testing.T, lines ...script.Line) model.Model {
				m := connect(t, p, wire.New(wire.Options{Model: script.New(lines...)}), providers.Options{})
				if want := p.Name + ":" + nameOf(p); m.Name() != want {
					t.Errorf("the name is %q, want %q", m.Name(), want)
				}
				return m
			}})
		})
	}
}

// TestOptions: temperature, limit, headers and key of the options reach the server, and the request's own settings win.
func TestOptions(t *testing.T) {
	hot, cold := 0.75, 0.0
	for _, p := range remote() {
		t.Run(p.Name, func(t *testing.T) {
			var body string
			var head http.Header
			m := connect(t, p, wire.New(wire.Options{
				Model:     script.New(script.Line{Text: "x"}),
				OnRequest: func(r *http.Request, b []byte) { body, head = string(b), r.Header },
			}), providers.Options{Temperature: &hot, MaxTokens: 4321, Headers: map[string]string{"X-Team": "blue"}, APIKey: "k-123"})
			r := &model.Request{Messages: []*message.Message{message.NewUser("hi")}, Attempt: 1}
			read(t, m, r)
			for _, want := range []string{"0.75", "4321"} {
				if !strings.Contains(body, want) {
					t.Errorf("%s is not in %s", want, body)
				}
			}
			keys := head.Get("Authorization") + head.Get("X-Api-Key") + head.Get("X-Goog-Api-Key") + head.Get("Api-Key")
			if head.Get("X-Team") != "blue" || strings.TrimPrefix(keys, "Bearer ") != "k-123" {
				t.Errorf("headers %v", head)
			}
			r.Settings = model.Settings{Temperature: &cold, MaxTokens: 17}
			read(t, m, r)
			if strings.Contains(body, "0.75") || strings.Contains(body, "4321") || !strings.Contains(body, "17") {
				t.Errorf("the settings of the request are lost: %s", body)
			}
			if _, ok := model.ProfileOf(m); !ok {
				t.Error("the profile is hidden")
			}
		})
	}
}

func read(t *testing.T, m model.Model, r *model.Request) {
	t.Helper()
	for _, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingKeys(t *testing.T) {
	for _, p := range providers.List() {
		if p.Optional || p.Dialect == providers.Script {
			continue
		}
		_, err := providers.Open(t.Context(), p.Name+":m", providers.Options{})
		if !errors.Is(err, model.ErrAuth) {
			t.Errorf("%s: error %v, want ErrAuth", p.Name, err)
		}
		for _, v := range p.Keys {
			if err != nil && !strings.Contains(err.Error(), v) {
				t.Errorf("%s: %v does not name %s", p.Name, err, v)
			}
			t.Setenv(v, "secret")
			for _, b := range p.BaseVars {
				t.Setenv(b, "http://127.0.0.1:9")
			}
			if m, err := providers.Open(t.Context(), p.Name+":m", providers.Options{}); err != nil || m.Name() != p.Name+":m" {
				t.Errorf("%s with %s: error %v", p.Name, v, err)
			}
			t.Setenv(v, "")
		}
	}
	_, err := providers.Open(t.Context(), "vertex:gemini-3-pro", providers.Options{})
	if !errors.Is(err, model.ErrAuth) || !strings.Contains(err.Error(), "GOOGLE_CLOUD_PROJECT") || !strings.Contains(err.Error(), "google_genai") {
		t.Errorf("vertex: error %v", err)
	}
	m, err := providers.Open(t.Context(), "vertex:gemini-3-pro", providers.Options{APIKey: "k"})
	if err != nil || m.Name() != "vertex:gemini-3-pro" {
		t.Errorf("vertex with a key: error %v", err)
	}
}

func TestSplit(t *testing.T) {
	for spec, want := range map[string]string{
		"openai:gpt-5":              "openai gpt-5",
		"OpenAI:gpt-5":              "openai gpt-5",
		"google-genai:gemini-3-pro": "google_genai gemini-3-pro",
		"ollama:llama3:8b":          "ollama llama3:8b",
		"azure:gpt-5":               "azure_openai gpt-5",
		"mistral:large":             "mistralai large",
		"google_vertexai:gemini-3":  "vertex gemini-3",
		"gpt-5":                     "openai gpt-5",
		"ft:gpt-4o:acme":            "error: unknown model provider \"ft\"",
		"gpt-4o:acme":               "openai gpt-4o:acme",
		"O3-mini":                   "openai O3-mini",
		"claude-opus-4-7":           "anthropic claude-opus-4-7",
		"Command-R":                 "cohere Command-R",
		"accounts/fireworks/m/x":    "fireworks accounts/fireworks/m/x",
		"gemini-2.5-pro":            "vertex gemini-2.5-pro",
		"mixtral-8x7b":              "mistralai mixtral-8x7b",
		"deepseek-chat":             "deepseek deepseek-chat",
		"grok-4":                    "xai grok-4",
		"sonar-pro":                 "perplexity sonar-pro",
		"solar-1":                   "error: upstage is not in this build",
		"anthropic.claude-v2":       "bedrock anthropic.claude-v2",
		"ibm:granite":               "error: ibm is not in this build",
		"Bedrock-Converse:x":        "bedrock x",
		"azure_ai:x":                "error: azure_ai is not in this build",
		"foo":                       "error: cannot be told from its name",
		"foo:bar":                   "error: unknown model provider \"foo\"",
		"openai:":                   "error: no model after the colon",
		":x":                        "error: unknown model provider \"\"",
		"":                          "error: cannot be told",
		"script:/tmp/a:b.jsonl":     "script /tmp/a:b.jsonl",
	} {
		p, m, err := providers.Split(spec)
		if text, bad := strings.CutPrefix(want, "error: "); bad {
			var e *model.SpecError
			if !errors.As(err, &e) || e.Spec != spec || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: error %v, want one with %q", spec, err, text)
			}
			if !strings.HasSuffix(spec, "openai:") && err != nil && !strings.Contains(err.Error(), "anthropic, azure_openai, bedrock, cohere") {
				t.Errorf("%q: %v does not list what there is", spec, err)
			}
		} else if err != nil || p+" "+m != want {
			t.Errorf("%q is %q of %q (error %v), want %q", spec, m, p, err, want)
		}
	}
}

// TestTable: the rows are those of the issue, each with what it needs, and every beginning leads somewhere.
func TestTable(t *testing.T) {
	var got []string
	for _, p := range providers.List() {
		got = append(got, p.Name)
		if !strings.Contains("script vertex bedrock", string(p.Dialect)) && p.BaseURL == "" && len(p.BaseVars) == 0 {
			t.Errorf("%s has no address", p.Name)
		}
		if strings.HasPrefix(p.BaseURL, "http://") != p.Local {
			t.Errorf("%s: %s, local %v", p.Name, p.BaseURL, p.Local)
		}
	}
	want := strings.Fields("anthropic azure_openai bedrock cohere deepseek fireworks google_genai groq lmstudio mistralai nvidia ollama openai " +
		"openrouter perplexity script together vertex vllm xai")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	catalog := providers.Catalog()
	for _, b := range providers.Beginnings() {
		p, _, err := providers.Split(b[0] + "x")
		if err == nil && catalog[p] == nil {
			t.Errorf("%q leads to %q, which is not there", b[0], p)
		}
	}
}

// sees opens a provider whose address a variable tells and returns the request that it sends.
func sees(t *testing.T, spec, variable, path string) (*http.Request, string) {
	t.Helper()
	var seen *http.Request
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		seen, body = r, string(b)
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(srv.Close)
	o := providers.Options{Retries: -1}
	if variable == "" {
		o.BaseURL = srv.URL + path
	} else {
		t.Setenv(variable, strings.TrimPrefix(srv.URL, "http://")+path)
		if variable != "OLLAMA_HOST" {
			t.Setenv(variable, srv.URL+path)
		}
	}
	m, err := providers.Open(t.Context(), spec, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &model.Request{Messages: []*message.Message{message.NewUser("hi")}}) {
		if err == nil {
			t.Error("no error")
		}
	}
	if seen == nil {
		t.Fatal("nothing was sent")
	}
	return seen, body
}

func TestAddresses(t *testing.T) {
	if r, _ := sees(t, "ollama:llama3", "OLLAMA_HOST", ""); r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "" {
		t.Errorf("ollama asks %s with %v", r.URL, r.Header)
	}
	t.Setenv("AZURE_OPENAI_API_KEY", "azure-key")
	if r, _ := sees(t, "azure_openai:gpt-5", "AZURE_OPENAI_ENDPOINT", "/"); r.URL.Path != "/openai/v1/responses" || r.Header.Get("Api-Key") != "azure-key" || r.Header.Get("Authorization") != "" {
		t.Errorf("azure_openai asks %s with %v", r.URL, r.Header)
	}
	t.Setenv("OPENAI_API_KEY", "openai-key")
	if r, _ := sees(t, "openai:gpt-5", "OPENAI_BASE_URL", "/v1/"); r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer openai-key" {
		t.Errorf("another server of OpenAI's kind is asked %s with %v", r.URL, r.Header)
	}
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token")
	if r, _ := sees(t, "claude-opus-4-7", "ANTHROPIC_BASE_URL", ""); r.URL.Path != "/v1/messages" || r.Header.Get("Authorization") != "Bearer token" || r.Header.Get("X-Api-Key") != "" {
		t.Errorf("anthropic asks %s with %v", r.URL, r.Header)
	}
}

func TestOpenRouter(t *testing.T) {
	t.Setenv("OPENROUTER_API_KEY", "k")
	r, body := sees(t, "openrouter:x/y", "", "/api/v1")
	if r.Header.Get("X-Title") == "" || r.Header.Get("Http-Referer") == "" || !strings.Contains(body, `"provider":{"ignore":["azure"]}`) {
		t.Errorf("headers %v, body %s", r.Header, body)
	}
	t.Setenv("OPENROUTER_APP_TITLE", "")
	t.Setenv("OPENROUTER_APP_URL", "https://mine")
	t.Setenv("DEEPAGENTS_OPENROUTER_ALLOW_AZURE", "true")
	r, body = sees(t, "openrouter:x/y", "", "/api/v1")
	if r.Header.Values("X-Title") != nil || r.Header.Get("Http-Referer") != "https://mine" || strings.Contains(body, "azure") {
		t.Errorf("headers %v, body %s", r.Header, body)
	}
}

func TestDetect(t *testing.T) {
	srv := httptest.NewServer(wire.New(wire.Options{Model: script.New(script.Line{})}))
	defer srv.Close()
	t.Setenv("OLLAMA_HOST", srv.URL)
	found := false
	for _, f := range providers.Detect(t.Context()) {
		found = found || f.Provider == "ollama" && f.BaseURL == srv.URL+"/v1" && len(f.Models) == 1
	}
	if !found {
		t.Error("ollama is not detected")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := providers.Detect(ctx); len(got) > 0 {
		t.Errorf("after the end: %v", got)
	}
}

func TestScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(file, []byte(`{"text":"hello"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := providers.Open(t.Context(), "script:"+file, providers.Options{})
	if err != nil || m.Name() != "script:"+file {
		t.Errorf("%v, error %v", m, err)
	}
	m, err = providers.Open(t.Context(), "script:"+file+"x", providers.Options{})
	if m != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, error %v", m, err)
	}
}

func TestNoSecretsInErrors(t *testing.T) {
	for _, p := range providers.List() {
		for _, base := range []string{"not a url", "http://\x7f", "ftp://h"} {
			_, err := providers.Open(t.Context(), p.Name+":m", providers.Options{APIKey: "sk-secret", BaseURL: base})
			if err != nil && strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "secret") {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
	raw, err := json.Marshal(providers.List())
	if err != nil || !strings.Contains(string(raw), "OPENAI_API_KEY") {
		t.Errorf("%s, %v", raw, err)
	}
}
