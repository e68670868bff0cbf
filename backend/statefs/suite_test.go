package statefs_test

import (
	"context"
	"testing"

	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
)

func TestSuite(t *testing.T) {
	backendtest.RunContext(
		t,
		func(*testing.T) driver.Driver { return statefs.New(statefs.Options{}) },
		func(t *testing.T) context.Context {
			ctx, _ := in(t, schema(t).New())
			return ctx
		},
		backendtest.ImplicitDirs, backendtest.Sequential,
	)
}
