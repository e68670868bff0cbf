package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/providers"
	"github.com/deepagents-go/deepagents/model/script"
)

func providerNames() string {
	var names []string
	for _, p := range providers.List() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// providerInfo is a provider in the JSON of models list.
type providerInfo struct {
	Provider string   `json:"provider"`
	Dialect  string   `json:"dialect"`
	BaseURL  string   `json:"base_url,omitempty"`
	BaseVars []string `json:"base_url_vars,omitempty"`
	KeyVars  []string `json:"key_vars"`
	// KeySet is the variable that holds the key in this environment; the key itself is never shown.
	KeySet      string `json:"key_set,omitempty"`
	KeyOptional bool   `json:"key_optional"`
	Local       bool   `json:"local"`
}

// ListProviders prints the table of providers: as text, or as one JSON array.
func ListProviders(out io.Writer, asJSON bool) error {
	infos := []providerInfo{}
	for _, p := range providers.List() {
		x := providerInfo{
			Provider: p.Name, Dialect: string(p.Dialect), BaseURL: p.BaseURL, BaseVars: p.BaseVars, KeyVars: p.Keys, KeyOptional: p.Optional, Local: p.Local,
		}
		if x.KeyVars == nil {
			x.KeyVars = []string{}
		}
		if i := slices.IndexFunc(p.Keys, func(v string) bool { return os.Getenv(v) != "" }); i >= 0 {
			x.KeySet = p.Keys[i]
		}
		infos = append(infos, x)
	}
	if asJSON {
		return printJSON(out, infos)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tDIALECT\tKEY\tADDRESS")
	for _, x := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.Provider, x.Dialect, x.key(), x.address())
	}
	return w.Flush()
}

func (x *providerInfo) key() string {
	switch {
	case x.KeySet != "":
		return x.KeySet + " (set)"
	case len(x.KeyVars) == 0:
		return "none needed"
	case x.KeyOptional:
		return strings.Join(x.KeyVars, " or ") + " (optional)"
	}
	return strings.Join(x.KeyVars, " or ") + " (not set)"
}

func (x *providerInfo) address() string {
	for _, v := range x.BaseVars {
		if os.Getenv(v) != "" {
			return "from " + v
		}
	}
	switch {
	case x.BaseURL != "":
		return x.BaseURL
	case len(x.BaseVars) > 0:
		return strings.Join(x.BaseVars, " or ") + " (not set)"
	}
	return "-"
}

// ServeOptions say what models serve serves and where.
type ServeOptions struct {
	Script, Addr string
	// Insecure allows an address that other machines can reach.
	Insecure bool
	Out, Err io.Writer
}

// headerTime bounds how long a client may take to send the head of a request.
const headerTime = time.Minute

// ServeScript serves a script in the wire formats of the providers until the context ends, whose cause it returns. The address is
// printed as the only line on Out.
func ServeScript(ctx context.Context, o ServeOptions) error {
	if o.Script == "" {
		return Usagef("--script FILE is missing")
	}
	m, err := script.Open(o.Script)
	if err != nil {
		return Usage(err)
	}
	if err := checkLoopback(o.Addr, o.Insecure); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return Usagef("--addr: %w", err)
	}
	s := &http.Server{Handler: wire.New(wire.Options{Model: m}), ReadHeaderTimeout: headerTime}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	url := "http://" + l.Addr().String()
	_, err = fmt.Fprintln(o.Out, url)
	if err == nil {
		fmt.Fprintf(o.Err, "serving %s, no AI: OPENAI_BASE_URL=%s/v1 ANTHROPIC_BASE_URL=%s GOOGLE_GEMINI_BASE_URL=%s, any key; stop with Ctrl-C\n",
			m.Name(), url, url, url)
		select {
		case err = <-done:
			return err
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	<-done //nolint:errcheck // it is http.ErrServerClosed by now
	return err
}

// checkLoopback refuses an address that other machines can reach. A host name is looked at, not looked up, but for localhost.
func checkLoopback(addr string, insecure bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return Usagef("--addr: %w", err)
	}
	if ip := net.ParseIP(host); insecure || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return Usagef("--addr %s: other machines could use this server, which asks for no key: give an address of this machine, such as 127.0.0.1:0, or --insecure", addr)
}

// TestModel sends a model one small request and prints what came. A failed request is an error with exit code 3 when the
// credentials are wrong, else 1.
func TestModel(ctx context.Context, m model.Model, prompt string, out io.Writer) error {
	fmt.Fprintf(out, "model     %s\n", Plain(m.Name()))
	r := &model.Request{
		Messages: []*message.Message{{ID: "1", Role: message.User, Parts: message.Parts{message.Text{Text: prompt}}}}, Attempt: 1,
	}
	var acc model.Accumulator
	var finish model.Finish
	var usage *message.Usage
	var first time.Duration
	begin, deltas := time.Now(), 0
	for d, err := range m.Stream(ctx, r) {
		if err != nil {
			return failed(ctx, err, out)
		}
		if deltas++; deltas == 1 {
			first = time.Since(begin)
		}
		if d.Usage != nil {
			usage = d.Usage
		}
		finish = d.Finish
		acc.Add(d)
	}
	got := acc.Message()
	fmt.Fprintf(out, "answer    %s\n", short(got.Text()))
	for _, c := range got.Calls() {
		fmt.Fprintf(out, "call      %s %s\n", Plain(c.Name), short(string(c.Args)+c.Raw))
	}
	tokens := "not reported"
	if usage != nil {
		b, err := json.Marshal(usage)
		if err != nil {
			return err
		}
		tokens = string(b)
	}
	_, err := fmt.Fprintf(out, "finish    %s\ndeltas    %d, the first after %s, all after %s\ntokens    %s\n",
		finish, deltas, first.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond), tokens)
	return err
}

// failed prints what kind of error a model gave.
func failed(ctx context.Context, err error, out io.Writer) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var e *model.Error
	if errors.As(err, &e) {
		fmt.Fprintf(out, "error     %s", e.Kind)
		if e.Status != 0 {
			fmt.Fprintf(out, ", HTTP status %d", e.Status)
		}
		if e.RetryAfter > 0 {
			fmt.Fprintf(out, ", try again after %s", e.RetryAfter)
		}
		fmt.Fprintln(out)
	}
	if errors.Is(err, model.ErrAuth) {
		return &ExitError{ExitAuth, err}
	}
	return &ExitError{ExitFailure, err}
}
