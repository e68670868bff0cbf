package openai_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apis are run by most tests.
var apis = []openai.API{openai.Chat, openai.Responses}

// client makes a new connection for each request, so that no idle one looks like a leak.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// serve starts a server with this handler.
func serve(t testing.TB, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// open opens a model, without retries unless the options say how many.
func open(t testing.TB, o openai.Options) *openai.Model {
	t.Helper()
	if o.Model == "" {
		o.Model = "m-1"
	}
	if o.Retries == 0 {
		o.Retries = -1
	}
	if o.HTTPClient == nil {
		o.HTTPClient = client(t)
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			modeltest.Run(t, modeltest.Options{New: func(t *testing.T, lines ...script.Line) model.Model {
				return open(t, openai.Options{API: api, BaseURL: serve(t, wire.New(wire.Options{Model: script.New(lines...)}))})
			}})
		})
	}
}
