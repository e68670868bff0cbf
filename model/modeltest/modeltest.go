package modeltest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
)

// Options say what is tested.
type Options struct {
	// New returns a model whose answers are those of the lines, one a request, for the default agent. Everything it starts
	// ends with t.Cleanup. Retries of the provider's own must be off.
	New func(t *testing.T, lines ...script.Line) model.Model
}

// Run checks the contract of [model.Model]: what a stream yields and how it ends; that a break and the end of the context end
// it at once and leave no goroutine; that errors are [*model.Error]; that requests do not disturb each other.
func Run(t *testing.T, o Options) {
	t.Helper()
	s := suite{o}
	t.Run("Name", s.name)
	t.Run("Answers", s.answers)
	t.Run("Conversation", s.conversation)
	t.Run("Errors", s.errors)
	t.Run("Cut", s.cut)
	t.Run("Break", s.breaks)
	t.Run("Cancelled", s.cancelled)
	t.Run("CancelInTheMiddle", s.cancelInTheMiddle)
	t.Run("CancelWhileWaiting", s.cancelWhileWaiting)
	t.Run("Concurrent", s.concurrent)
}

type suite struct{ Options }

func (s suite) name(t *testing.T) {
	provider, name, ok := strings.Cut(s.New(t, script.Line{}).Name(), ":")
	if !ok || provider == "" || name == "" {
		t.Errorf("the name is %q:%q, want provider:model", provider, name)
	}
}

// lines are the answers that every provider can give.
func lines() map[string]script.Line {
	read := script.ToolCall{ID: "call_a", Name: "read_file", Args: json.RawMessage(`{"file_path":"/ä <b> \"c\".txt","limit":3}`)}
	list := script.ToolCall{ID: "call_b", Name: "ls", Args: json.RawMessage(`{"path":"/"}`)}
	return map[string]script.Line{
		"text":            {Text: "Grüße, 世界 <b>&\nline two"},
		"long text":       {Text: strings.Repeat("0123456789 äöü ", 20_000)},
		"one call":        {ToolCalls: []script.ToolCall{read}},
		"text and calls":  {Text: "I look.", ToolCalls: []script.ToolCall{read, list}},
		"no arguments":    {ToolCalls: []script.ToolCall{{ID: "call_c", Name: "ls"}}},
		"broken call":     {ToolCalls: []script.ToolCall{{ID: "call_d", Name: "ls", ArgsRaw: `{"path": /}`}, list}},
		"cut text":        {Text: "and then", Finish: model.Length},
		"cut call":        {ToolCalls: []script.ToolCall{{ID: "call_e", Name: "ls", ArgsRaw: `{"pa`}}, Finish: model.Length},
		"usage":           {Text: "x", Usage: &message.Usage{Input: 120, Output: 7, Total: 127}},
		"usage and calls": {ToolCalls: []script.ToolCall{list}, Usage: &message.Usage{Input: 1, Output: 2, Total: 3}},
		"cached usage":    {Text: "x", Usage: &message.Usage{Input: 20, Output: 9, Total: 129, CacheRead: 100, Reasoning: 4}},
		"reasoning":       {Reasoning: "Hm, über\n<this> I \"think\".", Text: "Yes."},
		"thought, called": {Reasoning: "I look.", ToolCalls: []script.ToolCall{list, read}},
		"everything":      {Reasoning: "Hm.", Text: "I look.", ToolCalls: many(), Usage: &message.Usage{Input: 5, Output: 50, Total: 55, Reasoning: 2}},
	}
}

// many are calls that a model makes at once.
func many() []script.ToolCall {
	calls := make([]script.ToolCall, 12)
	for i := range calls {
		calls[i] = script.ToolCall{
			ID: fmt.Sprintf("call_%d", i), Name: "read_file",
			Args: json.RawMessage(fmt.Sprintf(`{"file_path":"/dir/%d.txt","limit":%d}`, i, i)),
		}
	}
	return calls
}

// want returns the message that a line means.
func want(l script.Line) *message.Message {
	m := &message.Message{Role: message.Assistant, Usage: l.Usage, Finish: string(l.Finish)}
	if l.Reasoning != "" {
		m.Parts = append(m.Parts, message.Reasoning{Text: l.Reasoning})
	}
	if l.Text != "" {
		m.Parts = append(m.Parts, message.Text{Text: l.Text})
	}
	for i, c := range l.ToolCalls {
		call := message.ParseCall(c.ID, c.Name, cmp.Or(c.ArgsRaw, string(c.Args)))
		if l.Finish == model.Length && i == len(l.ToolCalls)-1 {
			call.Args, call.Raw, call.Invalid = nil, c.ArgsRaw, model.CutOff
		}
		m.Parts = append(m.Parts, call)
	}
	switch {
	case m.Finish != "":
	case len(l.ToolCalls) > 0:
		m.Finish = string(model.ToolCalls)
	default:
		m.Finish = string(model.Stop)
	}
	return m
}

// answerOptions leave out what a provider may add to an answer. A script without usage says nothing about usage.
func answerOptions(l script.Line) gocmp.Options {
	o := gocmp.Options{
		cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(message.Message{}, "ID", "Meta"),
		cmpopts.IgnoreFields(message.ToolCall{}, "Provider", "Opaque"),
		cmpopts.IgnoreFields(message.Reasoning{}, "Provider", "Opaque"),
		cmpopts.IgnoreSliceElements(isHidden),
	}
	if l.Usage == nil {
		o = append(o, cmpopts.IgnoreFields(message.Message{}, "Usage"))
	}
	return o
}

// isHidden reports whether a part is only the provider's: an opaque block, or what signs reasoning without text.
func isHidden(p message.Part) bool {
	if r, ok := p.(message.Reasoning); ok {
		return r.Text == ""
	}
	_, ok := p.(message.Opaque)
	return ok
}

func request() *model.Request {
	return &model.Request{
		Messages: []*message.Message{message.NewUser("go on")}, Attempt: 1,
		Tools: []model.Tool{
			{Name: "ls", Description: "Lists a directory.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			{Name: "read_file", Description: "Reads a file.", Input: json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"},"limit":{"type":"integer"}}}`)},
		},
	}
}

// read asks the usual and reads the answer.
func read(ctx context.Context, m model.Model) (*message.Message, error) {
	return ask(ctx, m, request())
}

// ask ranges over a whole stream and checks its form: nothing after a finish or an error, and one of the two at the end.
func ask(ctx context.Context, m model.Model, r *model.Request) (*message.Message, error) {
	var a model.Accumulator
	var failed error
	for d, err := range m.Stream(ctx, r) {
		switch {
		case failed != nil:
			return nil, fmt.Errorf("the stream went on after the error: %w", failed)
		case a.Finish() != "":
			return nil, fmt.Errorf("the stream went on after finish %q", a.Finish())
		}
		if failed = err; err == nil {
			a.Add(d)
		}
	}
	if failed == nil && a.Finish() == "" {
		return nil, errors.New("the stream ended with neither a finish nor an error")
	}
	return a.Message(), failed
}

func (s suite) answers(t *testing.T) {
	for name, l := range lines() {
		t.Run(name, func(t *testing.T) {
			got, err := read(t.Context(), s.New(t, l))
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(want(l), got, answerOptions(l)); d != "" {
				t.Errorf("the answer differs (-want +got):\n%s", d)
			}
		})
	}
}

func (s suite) errors(t *testing.T) {
	for kind, sentinel := range map[model.Kind]error{
		model.Overloaded: model.ErrOverloaded, model.RateLimited: model.ErrRateLimited,
		model.ContextOverflow: model.ErrContextOverflow, model.Auth: model.ErrAuth,
	} {
		t.Run(string(kind), func(t *testing.T) {
			_, err := read(t.Context(), s.New(t, script.Line{Error: kind}))
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v is no *model.Error", err)
			}
			if e.Kind != kind || !errors.Is(err, sentinel) || e.Provider == "" {
				t.Errorf("error %v has kind %s of provider %q, want %s", err, e.Kind, e.Provider, kind)
			}
		})
	}
}

// cut: what arrived before an error is kept and is not finished.
func (s suite) cut(t *testing.T) {
	const text = "the beginning of an answer"
	got, err := read(t.Context(), s.New(t, script.Line{Text: text, Error: model.Overloaded}))
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *model.Error", err)
	}
	if got.Text() != text || got.Finish != "" {
		t.Errorf("%q with finish %q is left, want the text without a finish", got.Text(), got.Finish)
	}
}

// leaks fails the test when goroutines are left that f started.
func leaks(t *testing.T, f func()) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	f()
	goleak.VerifyNone(t, before)
}

// slow is an answer that a reader leaves in the middle.
var slow = script.Line{Text: strings.Repeat("many words ", 50_000)}

func (s suite) breaks(t *testing.T) {
	m := s.New(t, slow)
	leaks(t, func() {
		n := 0
		for _, err := range m.Stream(t.Context(), request()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			break
		}
		if n == 0 {
			t.Error("the stream is empty")
		}
	})
}

func (s suite) cancelled(t *testing.T) {
	m := s.New(t, script.Line{Text: "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	leaks(t, func() { endsCancelled(t, ctx, m, func() {}) })
}

func (s suite) cancelInTheMiddle(t *testing.T) {
	m := s.New(t, slow)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leaks(t, func() { endsCancelled(t, ctx, m, cancel) })
}

// cancelWhileWaiting hangs until the test's deadline when the model does not honour the context.
func (s suite) cancelWhileWaiting(t *testing.T) {
	m := s.New(t, script.Line{Text: "x", DelayMS: 3_600_000})
	ctx, cancel := context.WithCancel(t.Context())
	leaks(t, func() {
		ready := make(chan struct{})
		go func() { defer close(ready); cancel() }()
		endsCancelled(t, ctx, m, func() {})
		<-ready
	})
}

// endsCancelled ranges over a stream, calls first after its first delta, and wants the error of a cancelled context and nothing
// after it.
func endsCancelled(t *testing.T, ctx context.Context, m model.Model, first func()) {
	t.Helper()
	var failed error
	for d, err := range m.Stream(ctx, request()) {
		switch {
		case failed != nil:
			t.Fatalf("the stream went on after the error %q", failed)
		case err != nil:
			failed = err
		case d.Finish != "":
			t.Fatal("the stream of a cancelled request finished")
		default:
			first()
		}
	}
	var e *model.Error
	if !errors.Is(failed, context.Canceled) || !errors.As(failed, &e) {
		t.Errorf("error %v, want a *model.Error that wraps context.Canceled", failed)
	} else if e.Retryable() {
		t.Errorf("error %v invites a retry", failed)
	}
}

func (s suite) concurrent(t *testing.T) {
	const n = 8
	l := lines()["text and calls"]
	same := make([]script.Line, n)
	for i := range same {
		same[i] = l
	}
	m := s.New(t, same...)
	diffs := make(chan string, n)
	for range n {
		go func() {
			got, err := read(t.Context(), m)
			if err != nil {
				diffs <- err.Error()
				return
			}
			diffs <- gocmp.Diff(want(l), got, answerOptions(l))
		}()
	}
	for range n {
		if d := <-diffs; d != "" {
			t.Error(d)
		}
	}
}
