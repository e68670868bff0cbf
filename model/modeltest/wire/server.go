package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// AgentHeader is the header that names the agent that asks, for scripts with several.
const AgentHeader = "X-Deepagents-Agent"

// Options configure a server.
type Options struct {
	// Model answers. It gets the request as it was understood from the wire, and [model.Request].Attempt counts equal requests
	// that failed.
	Model model.Model
	// Faults, when set, returns what goes wrong with the n-th request, counted from 0, or nil.
	Faults func(n int) *Fault
	// OnRequest, when set, sees each request before it is checked. It may be called concurrently.
	OnRequest func(r *http.Request, body []byte)
	// RetryAfter goes out in whole seconds with errors that may pass; 0 means that it does not.
	RetryAfter time.Duration
}

// Fault is what goes wrong with one request. The zero value is nothing.
type Fault struct {
	// Status, Header and Body answer instead of the model when Status is set.
	Status int
	Header map[string]string
	Body   string
	// ContentType replaces text/event-stream.
	ContentType string
	// CutAfter cuts the connection after that many bytes of the stream; less than 0 cuts it before the response begins.
	CutAfter int
	// EndAfter ends the stream, cleanly but early, after that many events.
	EndAfter int
	// Malformed breaks the JSON of the n-th event, counted from 1.
	Malformed int
	// Pause is the time before each event.
	Pause time.Duration
	// Refuse makes the answer a refusal, in the dialect's form.
	Refuse bool
}

// Server is the handler. It is safe for concurrent use.
type Server struct {
	o Options

	mu     sync.Mutex
	n      int
	failed map[[sha256.Size]byte]int
}

// New returns a server.
func New(o Options) *Server { return &Server{o: o, failed: make(map[[sha256.Size]byte]int)} }

// call is a request as a dialect understood it.
type call struct {
	model.Request
	model  string
	stream bool
}

// dialect is one wire format.
type dialect interface {
	// match reports whether a path is of this dialect.
	match(path string) bool
	// decode reads a request and checks it by the dialect's rules. Its error is told to the client with status 400.
	decode(r *http.Request, body []byte) (*call, error)
	// encoder returns the encoder of one answer.
	encoder(c *call, id string) encoder
	// failure returns the status and the body of an error.
	failure(p problem) (status int, body any)
}

// encoder turns one answer into events.
type encoder interface {
	begin() []event
	delta(d model.Delta) []event
	// finish ends the answer; usage may be nil.
	finish(f model.Finish, usage *message.Usage) []event
	// fail ends the stream with an error in it.
	fail(p problem) []event
	// whole is the response to a request that wants no stream.
	whole(m *message.Message) any
}

// event is an event of a stream. Data is encoded as JSON unless it is a string.
type event struct {
	name string
	data any
}

// problem is an error to tell.
type problem struct {
	kind model.Kind
	code string
	text string
}

func dialects() []dialect { return []dialect{chat{}, responses{}, anthropic{}, gemini{}} }

const maxBody = 256 << 20

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		s.models(w)
		return
	}
	for _, d := range dialects() {
		if d.match(r.URL.Path) {
			s.serve(w, r, d)
			return
		}
	}
	http.Error(w, "no dialect has the path "+r.URL.Path, http.StatusNotFound)
}

func (s *Server) models(w http.ResponseWriter) {
	_, name, _ := strings.Cut(s.o.Model.Name(), ":")
	reply(w, http.StatusOK, map[string]any{
		"object": "list", "data": []any{map[string]any{"id": name, "object": "model", "created": 0, "owned_by": "script"}},
	})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b, err := json.Marshal(body)
	if err == nil {
		_, _ = w.Write(b)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, d dialect) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		s.refuse(w, d, problem{kind: model.Invalid, text: err.Error()})
		return
	}
	if s.o.OnRequest != nil {
		s.o.OnRequest(r, body)
	}
	n, fault := s.count()
	if fault.Status != 0 {
		for k, v := range fault.Header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(fault.Status)
		_, _ = io.WriteString(w, fault.Body)
		return
	}
	if fault.CutAfter < 0 {
		panic(http.ErrAbortHandler)
	}
	if r.Method != http.MethodPost {
		s.refuse(w, d, problem{kind: model.Invalid, text: "use POST"})
		return
	}
	c, err := d.decode(r, body)
	if err != nil {
		s.refuse(w, d, problem{kind: model.Invalid, text: err.Error()})
		return
	}
	key := sha256.Sum256(body)
	c.Agent, c.Attempt = r.Header.Get(AgentHeader), s.attempt(key)
	a := &answer{s: s, w: w, r: r, d: d, c: c, fault: fault, enc: d.encoder(c, "wire_"+strconv.Itoa(n+1))}
	s.outcome(key, a.play())
}

// count numbers the requests and returns what goes wrong with this one.
func (s *Server) count() (int, Fault) {
	s.mu.Lock()
	n := s.n
	s.n++
	s.mu.Unlock()
	if s.o.Faults != nil {
		if f := s.o.Faults(n); f != nil {
			return n, *f
		}
	}
	return n, Fault{}
}

func (s *Server) attempt(key [sha256.Size]byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 1 + s.failed[key]
}

// outcome counts the failures of equal requests until one succeeds.
func (s *Server) outcome(key [sha256.Size]byte, failed bool) {
	const most = 1000
	s.mu.Lock()
	defer s.mu.Unlock()
	if !failed || len(s.failed) >= most {
		delete(s.failed, key)
		return
	}
	s.failed[key]++
}

func (s *Server) refuse(w http.ResponseWriter, d dialect, p problem) {
	status, body := d.failure(p)
	if wait := s.o.RetryAfter; wait > 0 && (p.kind == model.RateLimited || p.kind == model.Overloaded) {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	reply(w, status, body)
}

// answer is one answer on its way.
type answer struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	d       dialect
	c       *call
	enc     encoder
	fault   Fault
	began   bool
	events  int
	written int
}

// play answers; failed means that the model gave an error.
func (a *answer) play() (failed bool) {
	next, stop := iter.Pull2(a.s.o.Model.Stream(a.r.Context(), &a.c.Request))
	defer stop()
	var acc model.Accumulator
	var usage *message.Usage
	for {
		d, err, ok := next()
		switch {
		case !ok:
			err = errors.New("the model ended without a finish")
			fallthrough
		case err != nil:
			a.fail(explain(err))
			return true
		}
		if a.fault.Refuse && d.Finish != "" {
			d.Finish = model.Refusal
		}
		acc.Add(d)
		if d.Usage != nil {
			usage = d.Usage
		}
		if d.Finish != "" {
			if a.c.stream {
				a.begin()
				a.send(a.enc.finish(d.Finish, usage))
			} else {
				reply(a.w, http.StatusOK, a.enc.whole(acc.Message()))
			}
			return false
		}
		if a.c.stream && a.r.Context().Err() == nil {
			a.begin()
			if a.fault.Refuse && d.Text != "" {
				d = model.Delta{Text: d.Text, Finish: model.Refusal}
			}
			a.send(a.enc.delta(d))
		}
	}
}

// explain says in the words of the wire what the model's error says.
func explain(err error) problem {
	p := problem{kind: model.Other, text: err.Error()}
	var e *model.Error
	if errors.As(err, &e) {
		p.kind, p.code = e.Kind, e.Code
	}
	return p
}

func (a *answer) fail(p problem) {
	if a.began {
		a.send(a.enc.fail(p))
		return
	}
	if p.kind == model.Other {
		a.w.Header().Set("X-Should-Retry", "false") // a script that does not fit will not fit later
	}
	a.s.refuse(a.w, a.d, p)
}

func (a *answer) begin() {
	if a.began {
		return
	}
	a.began = true
	h := a.w.Header()
	h.Set("Content-Type", cmp.Or(a.fault.ContentType, "text/event-stream; charset=utf-8"))
	h.Set("Cache-Control", "no-cache")
	a.w.WriteHeader(http.StatusOK)
	a.send(a.enc.begin())
}

// send writes and flushes events, as far as the fault lets it.
func (a *answer) send(events []event) {
	for _, e := range events {
		if a.fault.EndAfter > 0 && a.events >= a.fault.EndAfter {
			return
		}
		a.events++
		if a.fault.Pause > 0 {
			timer := time.NewTimer(a.fault.Pause)
			select {
			case <-timer.C:
			case <-a.r.Context().Done():
				timer.Stop()
				return
			}
		}
		b := e.bytes()
		if a.events == a.fault.Malformed {
			b = []byte("data: {\"broken\n\n")
		}
		a.write(b)
	}
}

func (a *answer) write(b []byte) {
	cut := a.fault.CutAfter
	if cut > 0 && a.written+len(b) >= cut {
		_, _ = a.w.Write(b[:cut-a.written])
		_ = http.NewResponseController(a.w).Flush()
		panic(http.ErrAbortHandler)
	}
	a.written += len(b)
	_, _ = a.w.Write(b)
	_ = http.NewResponseController(a.w).Flush()
}

func (e event) bytes() []byte {
	var b []byte
	if e.name != "" {
		b = fmt.Appendf(b, "event: %s\n", e.name)
	}
	b = append(b, "data: "...)
	if s, ok := e.data.(string); ok {
		b = append(b, s...)
	} else {
		raw, err := json.Marshal(e.data)
		if err != nil {
			raw = fmt.Appendf(nil, "%q", err.Error())
		}
		b = append(b, raw...)
	}
	return append(b, '\n', '\n')
}
