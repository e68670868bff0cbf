package providers_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/providers"
)

// noAWS takes every trace of AWS out of the environment.
func noAWS(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if k, _, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "AWS_") {
			t.Setenv(k, "")
			_ = os.Unsetenv(k)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// platform records one request and answers with an event stream of Anthropic's.
func platform(t *testing.T, answer string) (address string, last func() (*http.Request, string)) {
	t.Helper()
	var seen *http.Request
	var body string
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"google-token","token_type":"Bearer","expires_in":3600}`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		seen, body = r, string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, answer)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL, func() (*http.Request, string) { return seen, body }
}

const claudeSays = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hello\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

const geminiSays = `data: {"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":"STOP"}]}` + "\n\n"

func talk(t *testing.T, spec, base string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	provider, name, err := providers.Split(spec)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	if strings.HasPrefix(spec, "vertex:gemini") {
		client = nil // the SDK makes the one that has the credentials
	}
	m, err := providers.OpenWith(t.Context(), provider, name, providers.Options{BaseURL: base, Retries: -1}, client)
	if err != nil {
		t.Fatal(err)
	}
	var a model.Accumulator
	for d, err := range m.Stream(t.Context(), &model.Request{Messages: []*message.Message{message.NewUser("hi")}}) {
		if err != nil {
			t.Fatal(err)
		}
		a.Add(d)
	}
	if got := a.Message().Text(); got != "hello" || m.Name() != spec {
		t.Errorf("%s says %q", m.Name(), got)
	}
}

func TestBedrock(t *testing.T) {
	noAWS(t)
	open := func() error {
		_, err := providers.Open(t.Context(), "bedrock:us.anthropic.claude-opus-4-6-v1:0", providers.Options{})
		return err
	}
	if err := open(); !errors.Is(err, model.ErrAuth) || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	if err := open(); !errors.Is(err, model.ErrAuth) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: %v", err)
	}
	address, last := platform(t, claudeSays)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	talk(t, "bedrock:us.anthropic.claude-opus-4-6-v1:0", address)
	r, body := last()
	if r.URL.Path != "/model/us.anthropic.claude-opus-4-6-v1:0/invoke-with-response-stream" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") {
		t.Errorf("asked %s with %v", r.URL, r.Header)
	}
	if !strings.Contains(body, `"anthropic_version":"bedrock-2023-05-31"`) || strings.Contains(body, `"model"`) || strings.Contains(body, `],"max_tokens":32000,"cache_control"`) {
		t.Errorf("body %s", body)
	}
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-key")
	talk(t, "bedrock:anthropic.claude-sonnet-4-5-v1:0", address)
	if r, _ := last(); r.Header.Get("Authorization") != "Bearer bearer-key" {
		t.Errorf("with a key: %v", r.Header)
	}
	if _, err := providers.Open(t.Context(), "bedrock:amazon.nova-pro-v1:0", providers.Options{}); err == nil {
		t.Error("a model that is not Claude is opened")
	}
}

// account writes the file of a service account whose tokens come from the server.
func account(t *testing.T, address string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p1", "private_key_id": "k", "client_email": "a@p1.iam.gserviceaccount.com", "client_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": address + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestVertex(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Setenv("GOOGLE_CLOUD_PROJECT", "p1")
	t.Setenv("GOOGLE_CLOUD_LOCATION", "europe-west1")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	for _, name := range []string{"claude-sonnet-4-5@20250929", "gemini-3-pro"} {
		if _, err := providers.Open(t.Context(), "vertex:"+name, providers.Options{}); !errors.Is(err, model.ErrAuth) {
			t.Errorf("%s without credentials: %v", name, err)
		}
	}
	for spec, want := range map[string][2]string{
		"vertex:claude-sonnet-4-5@20250929": {claudeSays, "/v1/projects/p1/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"},
		"vertex:gemini-3-pro":               {geminiSays, "/v1beta1/projects/p1/locations/europe-west1/publishers/google/models/gemini-3-pro:streamGenerateContent"},
	} {
		t.Run(spec, func(t *testing.T) {
			address, last := platform(t, want[0])
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", account(t, address))
			talk(t, spec, address)
			if r, body := last(); r.URL.Path != want[1] || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				t.Errorf("asked %s with %v: %s", r.URL, r.Header, body)
			}
		})
	}
}
