package thread_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// bodies has every kind of record with every field filled in, and once with none that may be empty.
func bodies() []thread.Body {
	raw := json.RawMessage(`{"a":["<&>",1.5]}`)
	us := []state.Update{
		state.RawUpdate("k\u2028", false, json.RawMessage(`[1]`)),
		state.RawUpdate("k2", true, json.RawMessage(`null`)),
	}
	usage := message.Usage{Input: 1, Output: 2, Total: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 6}
	m := &message.Message{
		ID: "m", Role: message.Assistant, Name: "n", CallID: "c", Status: message.Error, Artifact: raw, Usage: &usage, Finish: "stop",
		Parts: message.Parts{message.Text{Text: "<x>\u2029"}, message.ToolCall{ID: "c", Name: "ls", Args: raw}},
		Meta:  map[string]json.RawMessage{"k": json.RawMessage(`1`)},
	}
	bare := message.NewUser("")
	denial := thread.Denial{Name: "n", Args: raw, Reason: "<r>", Fix: "f", By: "b"}
	end := thread.CallEnded{Task: "t", Message: m, Outcome: thread.Denied, Updates: us, Denial: &denial, Direct: true, MS: 5}
	return []thread.Body{
		&thread.RunStarted{Agent: "a", Model: "m", Resumed: true, Tools: []string{"ls"}, Meta: map[string]json.RawMessage{"d": json.RawMessage(`"/"`)}},
		&thread.RunStarted{},
		&thread.Input{From: "f", Agent: "a", Updates: us},
		&thread.Input{},
		&thread.Model{Message: m, Updates: us},
		&thread.Model{Message: bare},
		&thread.CallStarted{Task: "t/%", CallID: "c", Name: "n", Args: raw, Attempt: 2, Repeatable: true},
		&thread.CallStarted{},
		&end,
		&thread.CallEnded{Message: bare},
		&thread.Once{Task: "t", Name: "n", Value: raw},
		&thread.Interrupt{ID: "i", Task: "t", CallID: "c", Name: "n", N: 1, Kind: "k", Value: raw, Schema: raw, Inner: []string{"x"}},
		&thread.Answer{Interrupt: "i", Task: "t", CallID: "c", Kind: "k", Value: raw, By: "b"},
		&thread.Update{
			Node: "n", Updates: us, Answered: []thread.CallEnded{end},
			Replaced: []thread.Replaced{{Task: "t", Call: message.ToolCall{ID: "c", Name: "n", Args: raw}}},
			Granted:  []thread.Granted{{Task: "t", Actions: []policy.Action{{Kind: policy.Write, Path: "/a", Subtree: true}}}},
		},
		&thread.Update{},
		&thread.Commit{
			Source: thread.SourceFork, Node: "n<", Next: "x", Parent: "p", Applied: []thread.ID{"a", "b\""},
			Dropped: map[thread.ID]string{"a": "why"}, Replaced: map[thread.ID][]string{"b": {"/x"}},
		},
		&thread.Commit{},
		&thread.Snapshot{At: "a", Next: "n", Node: "m", Source: thread.SourceInput, State: raw, Records: 3, Snapshots: 4},
		&thread.RunEnded{
			Status: thread.Stopped, Cause: "c", ExitCode: 3, Error: "e", Result: "<r>", Turns: 4, Usage: usage, MS: 6,
			Denials: []thread.Denial{denial}, Pending: []string{"p"}, Files: []string{"/f"},
		},
		&thread.RunEnded{},
	}
}

// TestRoundTrip stores every kind of record and reads it back, and compares the encoding by hand with encoding/json.
func TestRoundTrip(t *testing.T) {
	same := cmp.Comparer(func(a, b state.Update) bool {
		x, xerr := json.Marshal(a)
		y, yerr := json.Marshal(b)
		return xerr == nil && yerr == nil && string(x) == string(y)
	})
	meaning := cmp.Comparer(func(a, b json.RawMessage) bool {
		var x, y any
		return (a == nil) == (b == nil) && (a == nil || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y))
	})
	for _, b := range bodies() {
		l := newLog(t, keys(t))
		e := l.entry("sub", b)
		name := reflect.TypeOf(b).Elem().Name()
		if err := l.j.Append(t.Context(), true, e); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := l.records()[0]
		got, err := thread.Decode(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(b, got, same, meaning); d != "" {
			t.Errorf("%s: %s\n%s", name, d, r.Data)
		}
		want := thread.Record{V: thread.Version, Seq: 1, ID: e.ID, Branch: thread.FirstBranch, NS: "sub", RunID: "r1", Step: l.step, Kind: e.Kind, Time: e.Time}
		r.Data = nil
		if d := cmp.Diff(want, r); d != "" {
			t.Errorf("%s: record %s", name, d)
		}
		std, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var x, y any
		if err := json.Unmarshal(std, &x); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(l.records()[0].Data, &y); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(drop(x), drop(y)); d != "" {
			t.Errorf("%s: encoding/json differs: %s", name, d)
		}
	}
}

// drop takes out the counts that are 0: they may be left out or not.
func drop(v any) any {
	if m, ok := v.(map[string]any); ok {
		for _, k := range []string{"records", "snapshots"} {
			if m[k] == 0.0 {
				delete(m, k)
			}
		}
	}
	return v
}

func TestRoundTripHasAllKinds(t *testing.T) {
	l := newLog(t, keys(t))
	got := make(map[thread.Kind]bool)
	for _, b := range bodies() {
		got[l.entry("", b).Kind] = true
	}
	for _, k := range []thread.Kind{
		thread.KindRunStarted, thread.KindInput, thread.KindModel, thread.KindCallStarted, thread.KindCallEnded, thread.KindOnce,
		thread.KindInterrupt, thread.KindAnswer, thread.KindUpdate, thread.KindCommit, thread.KindSnapshot, thread.KindRunEnded,
	} {
		if !got[k] {
			t.Errorf("%s is not tested", k)
		}
		delete(got, k)
	}
	if len(got) != 0 {
		t.Errorf("unknown kinds %v", got)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		r    thread.Record
		want error
	}{
		{"newer", thread.Record{V: thread.Version + 1, Kind: thread.KindModel, Data: json.RawMessage(`[]`)}, thread.ErrNewer},
		{"unknown kind", thread.Record{V: 1, Kind: "hologram", Data: json.RawMessage(`{}`)}, thread.ErrNewer},
		{"no data", thread.Record{V: 1, Kind: thread.KindCommit}, thread.ErrCorrupt},
		{"cut", thread.Record{V: 1, Kind: thread.KindCommit, Data: json.RawMessage(`{"next":`)}, thread.ErrCorrupt},
		{"another shape", thread.Record{V: 1, Kind: thread.KindCommit, Data: json.RawMessage(`{"next":5}`)}, thread.ErrCorrupt},
		{"model without message", thread.Record{V: 1, Kind: thread.KindModel, Data: json.RawMessage(`{}`)}, thread.ErrCorrupt},
		{"null", thread.Record{V: 1, Kind: thread.KindModel, Data: json.RawMessage(`null`)}, thread.ErrCorrupt},
		{"call without message", thread.Record{V: 1, Kind: thread.KindCallEnded, Data: json.RawMessage(`{"message":null}`)}, thread.ErrCorrupt},
		{"answered call without message", thread.Record{V: 1, Kind: thread.KindUpdate, Data: json.RawMessage(`{"answered":[{"task":"t"}]}`)}, thread.ErrCorrupt},
		{"unknown part", thread.Record{V: 1, Kind: thread.KindModel, Data: json.RawMessage(`{"message":{"role":"user","parts":[{"type":"x"}]}}`)}, thread.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Seq, c.r.ID = 7, "rec"
			b, err := thread.Decode(c.r)
			if !errors.Is(err, c.want) || b != nil {
				t.Fatalf("%v, %v; want %v", b, err, c.want)
			}
			if !strings.Contains(err.Error(), "7") && !strings.Contains(err.Error(), "rec") {
				t.Errorf("the error does not name the record: %v", err)
			}
		})
	}
}

// TestLoadDamaged has stores that give what nobody wrote.
func TestLoadDamaged(t *testing.T) {
	schema := keys(t)
	for _, c := range []struct {
		name string
		kind thread.Kind
		v    int
		data string
		want error
	}{
		{"newer record", thread.KindUpdate, 2, `{}`, thread.ErrNewer},
		{"unknown kind", "hologram", 1, `{}`, thread.ErrNewer},
		{"damaged", thread.KindUpdate, 1, `{"node":`, thread.ErrCorrupt},
		{"commit of nothing", thread.KindCommit, 1, `{"next":"x","applied":["zz"]}`, thread.ErrCorrupt},
		{"newer snapshot", thread.KindSnapshot, 1, `{"at":"x","next":"y","state":{"v":2,"values":[]}}`, thread.ErrNewer},
		{"snapshot of another type", thread.KindSnapshot, 1, `{"at":"x","next":"y","state":{"v":1,"values":{"trail":5}}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(t, schema)
			r := thread.Record{V: c.v, ID: "x", Kind: c.kind, Time: time.Unix(0, 0), Data: json.RawMessage(c.data)}
			if _, err := l.store.Append(t.Context(), "t", thread.Append{Fence: l.lease.Fence(), ExpectSeq: -1, Records: []thread.Record{r}}); err != nil {
				t.Fatal(err)
			}
			_, err := thread.Load(t.Context(), l.store, "t", "", schema)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), "thread t") {
				t.Errorf("the error does not name the thread: %v", err)
			}
		})
	}
}
