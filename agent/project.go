package agent

import (
	"encoding/json"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// project returns the events that a record stands for. It depends on nothing but the record, so that the durable events of a
// thread can be read again at any time without having been stored.
func project(e *thread.Entry) []EventData {
	switch b := e.Body.(type) {
	case *thread.RunStarted:
		return []EventData{RunStarted{Agent: b.Agent, Model: b.Model, Tools: orEmpty(b.Tools), Resumed: b.Resumed, Meta: b.Meta}}
	case *thread.Input:
		if e.NS == "" {
			return nil
		}
		ns := thread.Path(e.NS)
		return []EventData{SubagentStarted{TaskID: ns[len(ns)-1], Name: b.Agent}}
	case *thread.Model:
		return projectModel(b)
	case *thread.CallStarted:
		return []EventData{ToolStarted{TaskID: b.Task, ToolCallID: b.CallID, Name: b.Name, Attempt: b.Attempt}}
	case *thread.CallEnded:
		return projectCall(b)
	case *thread.Interrupt:
		return projectInterrupt(b)
	case *thread.Answer:
		return projectAnswer(b)
	case *thread.RunEnded:
		return []EventData{RunCompleted{
			Status: b.Cause, ExitCode: b.ExitCode, Result: b.Result, Error: b.Error, Denials: orEmpty(b.Denials),
			Pending: orEmpty(b.Pending), FilesChanged: orEmpty(b.Files), Usage: b.Usage, Turns: b.Turns, DurationMS: b.MS,
		}}
	}
	return nil
}

// orEmpty makes a nil slice an empty one, so that JSON says [] and not null.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func projectModel(b *thread.Model) []EventData {
	m := b.Message
	calls := m.Calls()
	out := make([]EventData, 0, 1+len(calls))
	done := MessageCompleted{MessageID: m.ID, Role: m.Role, Content: m.Text(), Finish: m.Finish, Usage: m.Usage}
	for _, p := range m.Parts {
		if r, ok := p.(message.Reasoning); ok {
			done.Reasoning += r.Text
		}
	}
	out = append(out, done)
	for _, c := range calls {
		out = append(out, ToolRequested{TaskID: taskID(m, c), ToolCallID: c.ID, Name: c.Name, Args: c.Args, RawArgs: c.Raw})
	}
	return out
}

func projectCall(b *thread.CallEnded) []EventData {
	if b.Outcome == thread.Aborted {
		return nil
	}
	var out []EventData
	id := b.Message.CallID
	if d := b.Denial; d != nil {
		out = append(out, ApprovalResolved{TaskID: b.Task, ToolCallID: id, Decision: "deny", By: d.By, Reason: d.Reason, Fix: d.Fix})
	}
	done := ToolCompleted{
		TaskID: b.Task, ToolCallID: id, Name: b.Message.Name, Status: b.Outcome, DurationMS: b.MS, Content: b.Message.Text(),
		Artifact: b.Message.Artifact,
	}
	var a tool.Artifact
	if len(done.Artifact) > 0 && json.Unmarshal(done.Artifact, &a) == nil {
		done.ExitCode, done.Truncated = a.ExitCode, a.Truncated
		for _, f := range a.Files {
			out = append(out, FileChanged{TaskID: b.Task, ToolCallID: id, FileChange: f})
		}
	}
	return append(out, done)
}

func projectInterrupt(b *thread.Interrupt) []EventData {
	if len(b.Inner) > 0 {
		return nil
	}
	if b.Kind == KindApproval {
		var v struct {
			Actions json.RawMessage `json:"action_requests"`
		}
		if json.Unmarshal(b.Value, &v) == nil {
			return []EventData{ApprovalRequested{InterruptID: b.ID, TaskID: b.Task, Actions: v.Actions}}
		}
	}
	return []EventData{QuestionAsked{InterruptID: b.ID, TaskID: b.Task, Kind: b.Kind, Value: b.Value}}
}

func projectAnswer(b *thread.Answer) []EventData {
	decision := "answer"
	if b.Kind == KindApproval {
		if ds, err := parseDecisions(b.Value); err == nil && len(ds) > 0 {
			decision = resolved(ds[0].Type)
		}
	}
	return []EventData{ApprovalResolved{InterruptID: b.Interrupt, TaskID: b.Task, ToolCallID: b.CallID, Decision: decision, By: b.By}}
}

// resolved names a decision as events do.
func resolved(decision string) string {
	switch decision {
	case decideApprove:
		return "allow"
	case decideReject:
		return "deny"
	}
	return decision
}

// taskID is the id of a call in its thread. The provider's id may repeat from message to message.
func taskID(m *message.Message, c message.ToolCall) string { return m.ID + "." + c.ID }
