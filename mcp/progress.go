package mcp

import (
	"context"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/tool"
)

// maxLive bounds the live output that waits for a slow client; older output is dropped first. The result has all of it.
const maxLive = 64 << 10

// Progress returns a middleware for the toolset's configuration that sends the live output of tools as progress notifications,
// to clients that gave their call a progress token: the message is the new output, the progress the bytes so far. Without the
// middleware there are no such notifications.
func Progress() agent.Middleware { return progress{} }

type progress struct{}

// Name returns "mcp-progress".
func (progress) Name() string { return "mcp-progress" }

// WrapTool gives the tool a scope whose live output goes to the client.
func (progress) WrapTool(next agent.ToolFunc) agent.ToolFunc {
	return func(ctx context.Context, tc tool.Call) (tool.Result, error) {
		c, ok := callFrom(ctx)
		scope, inside := run.From(ctx)
		if ok && inside && c.live != nil {
			ctx = run.With(ctx, liveScope{scope, c.live})
		}
		return next(ctx, tc)
	}
}

type liveScope struct {
	run.Scope
	live *live
}

func (s liveScope) Output() io.Writer { return s.live }

// live sends output as it comes. While one notification is on its way, more output gathers for the next.
type live struct {
	send func(text string, total int64) error

	mu      sync.Mutex
	text    []byte
	total   int64
	ended   bool
	wake    chan struct{}
	stopped chan struct{}
}

func newLive(ctx context.Context, session *sdk.ServerSession, token any) *live {
	l := &live{wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	l.send = func(text string, total int64) error {
		return session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: text, Progress: float64(total)})
	}
	go l.pump()
	return l
}

// Write never blocks and never fails.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return len(p), nil
	}
	l.total += int64(len(p))
	l.text = append(l.text, p...)
	if n := len(l.text) - maxLive; n > 0 {
		l.text = l.text[n:]
	}
	l.nudge()
	return len(p), nil
}

func (l *live) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close sends what is left and returns when nothing more will be sent.
func (l *live) close() {
	l.mu.Lock()
	l.ended = true
	l.nudge()
	l.mu.Unlock()
	<-l.stopped
}

func (l *live) pump() {
	defer close(l.stopped)
	for range l.wake {
		l.mu.Lock()
		text, total, ended := l.text, l.total, l.ended
		l.text = nil
		if n := len(text) - partialRune(text); !ended {
			text, l.text = text[:n], text[n:]
		}
		l.mu.Unlock()
		if len(text) > 0 && l.send(strings.ToValidUTF8(string(text), "\uFFFD"), total) != nil {
			return // the client is gone or has cancelled: output is for nobody now
		}
		if ended {
			return
		}
	}
}

// partialRune returns how many bytes at the end are the beginning of a character.
func partialRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if utf8.FullRune(p[len(p)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
