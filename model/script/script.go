package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
)

// provider is the name of the provider in [model.Model.Name] and in errors.
const provider = "script"

// Model plays a script. It is immutable and safe for concurrent use by any number of threads.
type Model struct {
	name  string
	roles map[string]*role
	err   error // a line given to New that is wrong
}

// role is what one agent says.
type role struct {
	agent  string
	blocks []block
	// plain: one block without when and without error lines, so that the position is the number of answers.
	plain bool
	last  int // number of the role's last line
}

type block struct {
	when  string
	turns []turn
}

// turn is a line that is ready to play.
type turn struct {
	no     int
	expect []string
	delay  time.Duration
	deltas []model.Delta
	usage  *message.Usage
	finish model.Finish
	fail   model.Kind
}

// Open reads the script file at path; its name is the path. A line that is wrong is an [*Error] of kind [Syntax].
func Open(path string) (*Model, error) {
	// A FIFO would keep the program waiting for a writer, and a device might never end.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("script: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	m, err := Parse(path, f)
	return m, errors.Join(err, f.Close())
}

// Parse reads a script; name is used by [Model.Name] and in errors. A line that is wrong is an [*Error] of kind [Syntax].
func Parse(name string, r io.Reader) (*Model, error) {
	lines, err := parse(name, r)
	if err != nil {
		return nil, err
	}
	return build(name, lines), nil
}

// New returns a model that plays these lines; its name is "lines". When [Parse] would refuse one of them, every
// [Model.Stream] fails with the [*Error] that says why.
func New(lines ...Line) *Model {
	const name = "lines"
	numbers := make([]numbered, len(lines))
	for i := range lines {
		if err := lines[i].check(); err != nil {
			return &Model{name: name, err: &Error{File: name, Line: i + 1, Kind: Syntax, Text: err.Error(), Err: err}}
		}
		numbers[i] = numbered{lines[i], i + 1}
	}
	return build(name, numbers)
}

func build(name string, lines []numbered) *Model {
	m := &Model{name: name, roles: make(map[string]*role)}
	for i := range lines {
		l := &lines[i]
		agent := cmp.Or(l.Agent, mainAgent)
		r := m.roles[agent]
		if r == nil {
			r = &role{agent: agent, plain: true}
			m.roles[agent] = r
		}
		if l.When != "" || len(r.blocks) == 0 {
			r.blocks = append(r.blocks, block{when: l.When})
		}
		b := &r.blocks[len(r.blocks)-1]
		b.turns = append(b.turns, newTurn(l))
		r.last = l.no
		r.plain = r.plain && b.when == "" && l.Error == ""
	}
	return m
}

func newTurn(l *numbered) turn {
	t := turn{
		no: l.no, expect: l.Expect, delay: time.Duration(l.DelayMS) * time.Millisecond, fail: l.Error, finish: l.Finish,
	}
	if t.finish == "" {
		t.finish = model.Stop
		if len(l.ToolCalls) > 0 {
			t.finish = model.ToolCalls
		}
	}
	if l.Usage != nil {
		u := *l.Usage
		if u.Total == 0 {
			u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
		}
		t.usage = &u
	}
	t.deltas = deltas(l)
	return t
}

// deltas cuts what a line says into pieces, as a provider would send them.
func deltas(l *numbered) []model.Delta {
	var ds []model.Delta
	for _, s := range split(l.Reasoning) {
		ds = append(ds, model.Delta{Reasoning: s})
	}
	for _, s := range split(l.Text) {
		ds = append(ds, model.Delta{Text: s})
	}
	for i := range l.ToolCalls {
		c := &l.ToolCalls[i]
		first := &model.CallDelta{Index: i, ID: cmp.Or(c.ID, fmt.Sprintf("call_%d_%d", l.no, i+1)), Name: c.Name}
		ds = append(ds, model.Delta{Call: first})
		for j, s := range split(c.argText()) {
			if j == 0 {
				first.Args = s
				continue
			}
			ds = append(ds, model.Delta{Call: &model.CallDelta{Index: i, Args: s}})
		}
	}
	return ds
}

// split cuts s between characters into three pieces, or more when it is long.
func split(s string) []string {
	const piece = 64 << 10
	n := 3 + len(s)/piece
	var out []string
	from := 0
	for i := 1; i <= n; i++ {
		to := len(s) * i / n
		for to < len(s) && to > from && !utf8.RuneStart(s[to]) {
			to--
		}
		if to > from {
			out = append(out, s[from:to])
			from = to
		}
	}
	return out
}

// Name returns "script:<name>".
func (m *Model) Name() string { return provider + ":" + m.name }

// Stream plays the next line of the agent that asks. The conversation that tells the position, the newest user text and the
// newest results is that of the run in the context, when it is this agent's, because r.Messages may have been compacted; else
// it is r.Messages. Errors of the script are [*Error], those that it plays [*model.Error].
func (m *Model) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		t, err := m.choose(ctx, r)
		if err == nil {
			err = wait(ctx, t.delay)
		}
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		t.play(ctx, yield)
	}
}

func (t *turn) play(ctx context.Context, yield func(model.Delta, error) bool) {
	for _, d := range t.deltas {
		if ctx.Err() != nil {
			yield(model.Delta{}, ended(ctx))
			return
		}
		if !yield(d, nil) {
			return
		}
	}
	if t.usage != nil {
		u := *t.usage // the reader's own
		if !yield(model.Delta{Usage: &u}, nil) {
			return
		}
	}
	switch {
	case ctx.Err() != nil:
		yield(model.Delta{}, ended(ctx))
	case t.fail != "":
		yield(model.Delta{}, &model.Error{Kind: t.fail, Provider: provider, Err: fmt.Errorf("played by line %d of the script", t.no)})
	default:
		yield(model.Delta{Finish: t.finish}, nil)
	}
}

// wait waits for d or for the end of the context.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// ended is the error of a request whose context ended.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &model.Error{Kind: model.Other, Provider: provider, Err: err}
}

// choose returns the turn to play after checking what it expects.
func (m *Model) choose(ctx context.Context, r *model.Request) (*turn, error) {
	if m.err != nil {
		return nil, m.err
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	agent := cmp.Or(r.Agent, mainAgent)
	msgs := conversation(ctx, agent, r)
	p := m.roles[agent]
	if p == nil {
		return nil, m.exhausted(agent, 0, msgs)
	}
	t := p.next(msgs, r.Attempt)
	if t == nil {
		return nil, m.exhausted(agent, p.last, msgs)
	}
	return t, m.expect(t, msgs)
}

// conversation returns the whole conversation of the agent. A run of another agent in the context says nothing about this one.
func conversation(ctx context.Context, agent string, r *model.Request) []*message.Message {
	s, ok := run.From(ctx)
	if !ok || cmp.Or(s.Info().Agent, mainAgent) != agent {
		return r.Messages
	}
	tx := s.State()
	if tx == nil {
		return r.Messages
	}
	if l := state.Messages.Get(tx); l.Len() > 0 {
		return l.Slice()
	}
	return r.Messages
}

func (m *Model) exhausted(agent string, line int, msgs []*message.Message) error {
	n := 0
	for _, msg := range msgs {
		if msg.Role == message.Assistant {
			n++
		}
	}
	return &Error{File: m.name, Line: line, Kind: Exhausted, Text: fmt.Sprintf(
		"script exhausted: no line is left for agent %q, whose thread holds %d assistant messages; the newest user text is %q",
		agent, n, clip(userText(msgs), 200),
	)}
}

// expect checks that every text the turn expects is there.
func (m *Model) expect(t *turn, msgs []*message.Message) error {
	if len(t.expect) == 0 {
		return nil
	}
	user, results := userText(msgs), newestResults(msgs)
	for _, want := range t.expect {
		found := strings.Contains(user, want)
		for i := 0; !found && i < len(results); i++ {
			found = strings.Contains(results[i].Text(), want)
		}
		if !found {
			return &Error{File: m.name, Line: t.no, Kind: Expect, Text: fmt.Sprintf(
				"expected %q in one of the newest results or in the newest user text, but there was:\n%s",
				clip(want, 500), seen(user, results),
			)}
		}
	}
	return nil
}

// seen shows what was there in some 2,000 characters, each text getting an equal share.
func seen(user string, results []*message.Message) string {
	const most, atLeast = 2000, 40
	share := max(most/(len(results)+1), atLeast)
	var b strings.Builder
	for i, m := range results {
		if i == most/atLeast {
			fmt.Fprintf(&b, "(%d more results)\n", len(results)-i)
			break
		}
		fmt.Fprintf(&b, "result of %s (%s): %s\n", m.Name, m.CallID, clip(m.Text(), share))
	}
	fmt.Fprintf(&b, "user: %s", clip(user, share))
	return b.String()
}
