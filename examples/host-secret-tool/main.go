// Host-secret-tool gives an agent a tool that calls a service with a token, while the token stays in this program: it is in no
// message, no event, no journal and no environment of a command.
//
// That holds because the tool's function runs here, in the host program, and a sandbox gets no variable that it is not given. With
// sandbox/host, which confines nothing, keep the token out of files and of the environment that this program was started with: a
// command of the same user can read both.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/deepagents-go/deepagents/tool"
)

// Stock is a service that answers GET /stock/ITEM to those who have its token.
type Stock struct {
	URL    string
	Client *http.Client
	token  string
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

type stockIn struct {
	Item string `json:"item" jsonschema:"name of the item"`
}

// Tool is the service as a tool. The model chooses the item and nothing else.
func (s *Stock) Tool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "stock", Description: "Says how many pieces of an item are in stock.", Hints: tool.Hints{ReadOnly: true, OpenWorld: true},
	}, func(ctx context.Context, in stockIn) (string, error) {
		text, err := s.get(ctx, in.Item)
		if err != nil {
			return "", errors.New(s.clean(err.Error()))
		}
		return s.clean(text), nil
	})
}

func (s *Stock) get(ctx context.Context, item string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/stock/"+url.PathEscape(item), http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.Client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the service answers %s: %s", res.Status, b)
	}
	return string(b), err
}

// clean takes the token out of what the service says: some repeat what they were sent.
func (s *Stock) clean(text string) string { return strings.ReplaceAll(text, s.token, "[token]") }
