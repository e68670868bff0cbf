package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/sandbox/host"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

const conversation = `
{"text":"I ask the stock service.","tool_calls":[{"name":"stock","args":{"item":"bolts"}},{"name":"stock","args":{"item":"nuts"}},{"name":"execute","args":{"command":"env; set"}}]}
{"expect":["bolts: 240","no such item"],"text":"There are 240 bolts. The service knows no nuts."}
`

func main() {
	const token = "an example, not a secret"
	service := httptest.NewServer(shop(token)) // stands for a service of your own
	defer service.Close()
	err := run(context.Background(), &Stock{URL: service.URL, Client: service.Client(), token: token}, memory.New(), func(ev agent.Event) {
		if d, ok := ev.Data.(agent.RunCompleted); ok {
			fmt.Println(d.Result)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
}

// shop answers those who have the token. Its refusals repeat the header, as careless services do.
func shop(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case r.URL.Path == "/stock/bolts":
			_, _ = io.WriteString(w, "bolts: 240")
		default:
			http.Error(w, "no such item; Authorization was "+r.Header.Get("Authorization"), http.StatusNotFound)
		}
	})
}

// run answers one question and shows every event.
func run(ctx context.Context, stock *Stock, threads thread.Store, show func(agent.Event)) (err error) {
	m, err := script.Parse("stock", strings.NewReader(conversation))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stock-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, err := disk.New(dir, disk.Options{})
	if err != nil {
		return err
	}
	shell, err := host.New(files, host.Options{})
	if err != nil {
		return errors.Join(err, files.Close())
	}
	defer func() { err = errors.Join(err, shell.Close(context.WithoutCancel(ctx)), files.Close()) }()
	a, err := deepagents.New(deepagents.Config{
		Model: m, Backend: files, Sandbox: shell, Unattended: true, Threads: threads, Tools: []tool.Tool{stock.Tool()},
	})
	if err != nil {
		return err
	}
	for ev, err := range a.Stream(ctx, agent.Input{Thread: "stock", Text: "How many bolts and nuts are there?"}) {
		if err != nil {
			return err
		}
		show(ev)
	}
	return nil
}
