package mcp

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxRounds bounds the calls that wait for an answer; the oldest is forgotten first.
const maxRounds = 1024

// rounds holds the calls that wait for the client to repeat them with answers. The request state that the client hands back is
// a random name of an entry here, good for one use: there is nothing in it to forge, and no answer counts twice.
type rounds struct {
	mu      sync.Mutex
	waiting map[string]*round
	order   []string
}

// round is a call as it was when its questions went out.
type round struct {
	name, id string
	args     []byte
	answers  map[string]*sdk.ElicitResult
	open     sdk.InputRequestMap
}

func newRounds() *rounds { return &rounds{waiting: map[string]*round{}} }

// pause keeps a call until its questions are answered and returns the request state.
func (r *rounds) pause(c *call, name string, args json.RawMessage) string {
	token := rand.Text()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[token] = &round{name: name, id: c.id, args: bytes.Clone(args), answers: c.answers, open: c.open}
	r.order = append(r.order, token)
	for len(r.order) > maxRounds {
		delete(r.waiting, r.order[0])
		r.order = r.order[1:]
	}
	return token
}

// resume gives a repeated call the answers that it brings and those that it brought before. A state that is unknown, was used,
// or belongs to another call is a protocol error.
func (r *rounds) resume(c *call, name string, args json.RawMessage) error {
	w := r.take(c.req.Params.RequestState)
	if w == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown or used requestState: call the tool again without it"}
	}
	if w.name != name || !bytes.Equal(w.args, args) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the requestState belongs to another call of %s", w.name)}
	}
	c.id, c.answers = w.id, maps.Clone(w.answers)
	if c.answers == nil {
		c.answers = map[string]*sdk.ElicitResult{}
	}
	for key, res := range c.req.Params.InputResponses {
		if e, ok := res.(*sdk.ElicitResult); ok && w.open[key] != nil {
			c.answers[key] = e
		}
	}
	return nil
}

func (r *rounds) take(token string) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[token]
	if w == nil {
		return nil
	}
	delete(r.waiting, token)
	for i, t := range r.order {
		if t == token {
			r.order = append(r.order[:i], r.order[i+1:]...)
			break
		}
	}
	return w
}

// key identifies a question within its call: what is asked, and how often it was asked before.
func (c *call) key(kind string, value []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s%s", len(kind), kind, value)
	what := hex.EncodeToString(h.Sum(nil)[:8])
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	n := c.asked[what]
	c.asked[what]++
	return fmt.Sprintf("%s-%d", what, n)
}
