package gemini

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// rules are Google's errors by status and text; the general rules follow them.
func rules() []provider.Rule {
	return []provider.Rule{
		{Text: "exceeds the maximum number of tokens", Kind: model.ContextOverflow},
		{Text: "api key not valid", Kind: model.Auth},
		{Text: "api_key_invalid", Kind: model.Auth},
		{Text: "api key expired", Kind: model.Auth},
		{Text: "UNAUTHENTICATED", Kind: model.Auth},
		{Text: "PERMISSION_DENIED", Kind: model.Auth},
		{Text: "limit: 0", Kind: model.Other}, // a quota that waiting does not bring
		{Text: "RESOURCE_EXHAUSTED", Kind: model.RateLimited},
		{Text: "UNAVAILABLE", Kind: model.Overloaded},
		{Text: "DEADLINE_EXCEEDED", Kind: model.Connection},
		{Status: http.StatusGatewayTimeout, Kind: model.Connection},
	}
}

// classify turns an error body into an error. Google says in the details how long to wait.
func (m *Model) classify(status int, header http.Header, body []byte) *model.Error {
	e := provider.Classify(provider.Failure{Provider: m.o.Provider, Status: status, Header: header, Body: body}, m.rules)
	if e.RetryAfter == 0 {
		e.RetryAfter = retryDelay(body)
	}
	return e
}

// retryDelay reads RetryInfo, as {"retryDelay":"34.5s"}.
func retryDelay(body []byte) time.Duration {
	var b struct {
		Error struct {
			Details []struct {
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &b) != nil {
		return 0
	}
	for _, d := range b.Error.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return wait
		}
	}
	return 0
}
