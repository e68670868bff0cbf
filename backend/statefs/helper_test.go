package statefs_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noState is a run without a state.
type noState struct{ runtest.Scope }

func (*noState) State() *state.Tx { return nil }

func schema(t testing.TB) *state.Schema {
	t.Helper()
	s, err := state.NewSchema(statefs.New(statefs.Options{}).Fields()...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// in returns the context of a call on a state.
func in(t testing.TB, s state.State) (context.Context, *state.Tx) {
	t.Helper()
	tx := state.NewTx(s)
	return run.With(t.Context(), &runtest.Scope{Tx: tx}), tx
}

// day is a clock that starts at noon and moves on by an hour with each look.
func day() func() time.Time {
	now := time.Date(2026, 9, 1, 11, 0, 0, 0, time.FixedZone("CEST", 7200))
	return func() time.Time {
		now = now.Add(time.Hour)
		return now
	}
}

// with returns a driver and the context of a call that sees these files.
func with(t testing.TB, files map[string]string) (*statefs.FS, context.Context, *state.Tx) {
	t.Helper()
	d := statefs.New(statefs.Options{Now: day()})
	ctx, tx := in(t, schema(t).New())
	for p, content := range files {
		put(ctx, t, d, p, content)
	}
	return d, ctx, tx
}

func put(ctx context.Context, t testing.TB, d driver.Driver, path, content string) driver.Info {
	t.Helper()
	i, err := d.Write(ctx, path, strings.NewReader(content), driver.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// get returns the content of a file, or the error as text.
func get(ctx context.Context, d driver.Driver, path string, o driver.OpenOptions) string {
	r, _, err := d.Open(ctx, path, o)
	if err != nil {
		return err.Error()
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	if err := r.Close(); err != nil {
		return err.Error()
	}
	return string(b)
}

// ls returns the listing of a directory, directories with a slash.
func ls(ctx context.Context, t testing.TB, d driver.Driver, dir string) string {
	t.Helper()
	var out []string
	for i, err := range d.List(ctx, dir, driver.ListOptions{Stat: true}) {
		if err != nil {
			t.Fatal(err)
		}
		p := i.Path
		if i.Kind == driver.Dir {
			p += "/"
		}
		out = append(out, p)
	}
	return strings.Join(out, " ")
}

func walk(ctx context.Context, t testing.TB, d driver.Walker, dir string) string {
	t.Helper()
	var out []string
	for i, err := range d.Walk(ctx, dir) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, i.Path)
	}
	return strings.Join(out, " ")
}
