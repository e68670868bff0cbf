package modeltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScript(t *testing.T) {
	modeltest.Run(t, modeltest.Options{
		New: func(_ *testing.T, lines ...script.Line) model.Model { return script.New(lines...) },
	})
}
