package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// maxBody bounds the streamed body of a result.
const maxBody = 10 << 20

// ended makes the record of a result. The body and the artifact are code of the tool, which may panic.
func (x *execution) ended(c tool.Call, r tool.Result, kind thread.Outcome) (ended *thread.CallEnded, err error) {
	defer func() {
		if p := recover(); p != nil {
			ended, err = nil, &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	m := &message.Message{
		ID: x.agent.c.NewID(), Role: message.Tool, Name: c.Name, CallID: c.CallID, Status: r.Status, Parts: r.Parts,
	}
	if m.Status == "" {
		m.Status = message.Success
	}
	if r.Body != nil {
		text, err := readBody(r.Body)
		if err != nil {
			return nil, err
		}
		m.Parts = append(slices.Clip(m.Parts), message.Text{Text: text})
	}
	if len(m.Parts) == 0 {
		m.Parts = message.Parts{message.Text{}}
	}
	if r.Artifact != nil {
		raw, err := json.Marshal(r.Artifact)
		if err != nil {
			return nil, fmt.Errorf("artifact: %w", err)
		}
		m.Artifact = raw
	}
	stamp(r.Update, x.agent.c.NewID)
	return &thread.CallEnded{Task: c.ID, Message: m, Outcome: kind, Updates: r.Update}, nil
}

func readBody(rc io.ReadCloser) (string, error) {
	defer rc.Close()
	b, err := io.ReadAll(io.LimitReader(rc, maxBody+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxBody {
		return strings.ToValidUTF8(string(b[:maxBody]), "\uFFFD") + fmt.Sprintf("\n[The rest of the result, past %d bytes, was left out.]", maxBody), nil
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

func closeBody(r tool.Result) {
	if r.Body != nil {
		r.Body.Close()
	}
}

func denial(j *job, d *policy.DeniedError, err error) *thread.Denial {
	if d == nil && !errors.As(err, &d) {
		d = &policy.DeniedError{}
	}
	reason := d.Verdict.Reason
	if reason == "" {
		reason = d.Error()
	}
	return &thread.Denial{Name: j.call.Name, Args: j.call.Args, Reason: reason, Fix: d.Verdict.Fix, By: d.Verdict.Rule}
}

// noteDenial counts a refused call that has no result.
func (s *session) noteDenial(d thread.Denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denials = append(s.denials, d)
}

// note keeps the run's account of denials and changed files. A later call that does the same with success makes up for a denial.
func (s *session) note(j *job, e *thread.CallEnded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Denial != nil {
		s.denials = append(s.denials, *e.Denial)
		return
	}
	if e.Outcome != thread.OK {
		return
	}
	s.denials = slices.DeleteFunc(s.denials, func(d thread.Denial) bool {
		return d.Name == j.call.Name && string(d.Args) == string(j.call.Args)
	})
	var a tool.Artifact
	if len(e.Message.Artifact) > 0 && json.Unmarshal(e.Message.Artifact, &a) == nil {
		for _, f := range a.Files {
			s.files[f.Path] = true
		}
	}
}
