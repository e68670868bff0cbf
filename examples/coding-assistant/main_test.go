package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/model/modeltest/wire"
)

// check runs the assistant with a model and looks at what it prints, and at what is left.
func check(t *testing.T, spec string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the script needs a POSIX shell")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out bytes.Buffer
	if err := run(t.Context(), spec, "calculate 43 * 52", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"> write_file ", "> execute ", "< 43 * 52 = 2236\n", "43 * 52 is 2236; calculate.sh computed it.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestScript(t *testing.T) { check(t, "") }

// TestProvider: a model of a provider, here a local server, gets the prompt of the example and temperature 0.
func TestProvider(t *testing.T) {
	m, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var body string
	srv := httptest.NewServer(wire.New(wire.Options{Model: m, OnRequest: func(_ *http.Request, b []byte) { body = string(b) }}))
	defer srv.Close()
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", srv.URL+"/v1")
	check(t, "openai:gpt-4.1")
	if !strings.Contains(body, `"temperature":0`) || !strings.Contains(body, "You answer questions by programs.") {
		t.Errorf("the request was %s", body)
	}
}

func TestUnknownModel(t *testing.T) {
	if err := run(t.Context(), "acme:x", "calculate", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "acme") {
		t.Errorf("error %v", err)
	}
}
