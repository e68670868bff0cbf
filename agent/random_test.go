package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/model/script"
)

// randomScript draws turns of calls whose paths conflict at random.
func randomScript(t *rapid.T) []script.Line {
	path := rapid.SampledFrom([]string{"/a", "/b", "/d/x", "/d/y"})
	oneCall := func(id, agent string) script.ToolCall {
		kinds := []string{"unsafe", "unsafe", "safe", "safe", "ask", "nope", "broken"}
		if agent == "" {
			kinds = append(kinds, "task")
		}
		switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
		case "task":
			return call(id, "task", `{"do":"it"}`)
		case "broken":
			return script.ToolCall{ID: id, Name: "unsafe", ArgsRaw: `{"write":`}
		default:
			args := make(map[string]string)
			switch rapid.IntRange(0, 5).Draw(t, "acts") {
			case 0, 1:
				args["write"] = path.Draw(t, "path")
			case 2:
				args["read"] = path.Draw(t, "path")
			case 3:
				args["exec"] = "make"
			case 4:
				args["tree"] = "/d"
			}
			return call(id, kind, args)
		}
	}
	turns := func(agent string, most int) []script.Line {
		var ls []script.Line
		for i := range rapid.IntRange(1, most).Draw(t, "turns") {
			var cs []script.ToolCall
			for j := range rapid.IntRange(1, 4).Draw(t, "calls") {
				cs = append(cs, oneCall(fmt.Sprintf("%s%d-%d", strings.ToUpper(agent), i, j), agent))
			}
			ls = append(ls, as(agent, calls(cs...)))
		}
		return append(ls, as(agent, say("end of "+agent)))
	}
	return append(turns("", 4), turns("helper", 3)...)
}

// TestRandomRunsSurvive plays random scripts with random conflicts, answers questions in random portions, kills processes at
// random appends, and compares with a run that nobody disturbed.
func TestRandomRunsSurvive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ls := randomScript(rt)
		calm := newWorld(t, lines(ls...))
		calm.calm()
		w := newWorld(t, lines(ls...))
		kills := rapid.SliceOfN(rapid.IntRange(0, 25), 0, 8).Draw(rt, "kills")
		choose := func(n int) []int {
			var pick []int
			for i := range n {
				if rapid.Bool().Draw(rt, "answer") {
					pick = append(pick, i)
				}
			}
			if len(pick) == 0 {
				pick = []int{rapid.IntRange(0, n-1).Draw(rt, "one")}
			}
			return pick
		}
		done := false
		for i := 0; i < 400 && !done; i++ {
			s := &mortal{Store: w.store}
			if i < len(kills) {
				s.at, s.stored = kills[i], rapid.Bool().Draw(rt, "stored")
			}
			done = w.live(s, choose)
		}
		if !done {
			rt.Fatal("the run does not come to its end")
		}
		w.verify(calm)
		for _, x := range []*world{calm, w} {
			x.inOrder(ls)
		}
		if t.Failed() {
			rt.Fatalf("kills %v, script %s", kills, mustJSON(ls))
		}
	})
}

// inOrder checks F18 on the effects: of two calls of one message that conflict, the earlier one came first.
func (w *world) inOrder(ls []script.Line) {
	at := make(map[string]int)
	for i, e := range w.effect {
		at[e] = i
	}
	for _, l := range ls {
		if l.Agent != "" {
			continue
		}
		for i, a := range l.ToolCalls {
			for _, b := range l.ToolCalls[i+1:] {
				x, xok := at[a.ID]
				y, yok := at[b.ID]
				if xok && yok && conflicts(a, b) && x > y {
					w.t.Errorf("%s %s ran after %s %s", a.ID, a.Args, b.ID, b.Args)
				}
			}
		}
	}
}

// conflicts says whether two calls of the script must be ordered, from their arguments alone.
func conflicts(a, b script.ToolCall) bool {
	touch := func(c script.ToolCall) (path string, write, tree bool) {
		for _, k := range []string{"write", "read", "tree", "exec"} {
			i := strings.Index(string(c.Args), `"`+k+`":"`)
			if i < 0 {
				continue
			}
			v := string(c.Args)[i+len(k)+4:]
			v = v[:strings.IndexByte(v, '"')]
			if k == "exec" {
				return "/", false, true
			}
			return v, k != "read", k == "tree"
		}
		return "", false, false
	}
	ap, aw, at := touch(a)
	bp, bw, bt := touch(b)
	if ap == "" || bp == "" || !aw && !bw {
		return false
	}
	below := func(p, dir string) bool { return dir == "/" || strings.HasPrefix(p, dir+"/") }
	return ap == bp || at && below(bp, ap) || bt && below(ap, bp)
}

// TestConflictsOracle keeps the oracle above honest.
func TestConflictsOracle(t *testing.T) {
	w, r, x, d := call("1", "t", `{"write":"/d/x"}`), call("2", "t", `{"read":"/d/x"}`), call("3", "t", `{"exec":"m"}`), call("4", "t", `{"tree":"/d"}`)
	got := []bool{conflicts(w, w), conflicts(w, r), conflicts(r, r), conflicts(w, x), conflicts(x, r), conflicts(d, r), conflicts(r, d), conflicts(d, x), conflicts(w, call("5", "t"))}
	if !slices.Equal(got, []bool{true, true, false, true, false, true, true, true, false}) {
		t.Error(got)
	}
}
