package providers

import (
	"context"
	"net/http"

	"github.com/deepagents-go/deepagents/model"
)

// OpenWith is what the catalog's opener does, with a client of the test's.
func OpenWith(ctx context.Context, provider, name string, o Options, client *http.Client) (model.Model, error) {
	return table()[provider].open(ctx, provider, name, o, client)
}

// Beginnings are the beginnings of bare names.
func Beginnings() [][2]string { return beginnings() }
