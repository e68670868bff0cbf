package main

import (
	"encoding/json"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

// TestTokenStays: the service gets the token; no event, no record of the journal (and so no message) and no command does, although
// the token is in this program's environment and the service repeats it.
func TestTokenStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command needs a POSIX shell")
	}
	const token = "s3cr3t-t0ken-9f2c"
	t.Setenv("STOCK_TOKEN", token)
	t.Setenv("UNSUSPICIOUS", token)
	service := httptest.NewServer(shop(token))
	defer service.Close()
	threads := memory.New()
	var seen strings.Builder
	var answer, environment string
	err := run(t.Context(), &Stock{URL: service.URL, Client: service.Client(), token: token}, threads, func(ev agent.Event) {
		b, err := json.Marshal(ev)
		if err != nil {
			t.Error(err)
		}
		seen.Write(b)
		switch d := ev.Data.(type) {
		case agent.RunCompleted:
			answer = d.Result
		case agent.ToolCompleted:
			if d.Name == "execute" {
				environment = d.Content
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "There are 240 bolts. The service knows no nuts."; answer != want {
		t.Errorf("answer %q, want %q", answer, want) // also: the service got the token
	}
	if !strings.Contains(environment, "PATH=") {
		t.Errorf("the command did not print its environment: %s", environment)
	}
	if !strings.Contains(seen.String(), "Authorization was Bearer [token]") {
		t.Error("the service did not repeat the token, so this test shows nothing")
	}
	records := 0
	for r, err := range threads.Read(t.Context(), "stock", thread.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(b)
		seen.Write(r.Data)
		records++
	}
	if records < 5 {
		t.Errorf("only %d records", records)
	}
	if i := strings.Index(seen.String(), token); i >= 0 {
		t.Errorf("the token got out: ...%s", seen.String()[max(0, i-200):i+len(token)])
	}
}

// TestRefused: a wrong token is an error for the model, which does not name the token.
func TestRefused(t *testing.T) {
	service := httptest.NewServer(shop("right"))
	defer service.Close()
	s := &Stock{URL: service.URL, Client: service.Client(), token: "wrong"}
	_, err := s.get(t.Context(), "bolts")
	if err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("error %v", err)
	}
}

func Example() {
	main()
	// Output: There are 240 bolts. The service knows no nuts.
}
