package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/providers"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

// OpenModel opens a model by its spec. No spec at all, or no key for it, is exit code 3, a spec that cannot be opened is 2.
func OpenModel(ctx context.Context, spec string) (model.Model, error) {
	return OpenModelWith(ctx, spec, model.OpenOptions{})
}

// OpenModelWith is [OpenModel] with options.
func OpenModelWith(ctx context.Context, spec string, o model.OpenOptions) (model.Model, error) {
	if spec == "" {
		return nil, &ExitError{ExitAuth, errors.New("no model: give --model provider:model or --model script:FILE, or set DEEPAGENTS_MODEL")}
	}
	m, err := providers.Open(ctx, spec, o)
	if errors.Is(err, model.ErrAuth) {
		return nil, &ExitError{ExitAuth, err}
	}
	if err != nil {
		return nil, Usage(err)
	}
	return m, nil
}

// Workspace is the files and the shell of a run. Close it.
type Workspace struct {
	Driver  driver.Driver
	Sandbox sandbox.Sandbox
}

// OpenWorkspace opens what the settings name.
func OpenWorkspace(s *Settings, log *slog.Logger) (*Workspace, error) {
	w := &Workspace{}
	if s.Backend == BackendState {
		w.Driver = statefs.New(statefs.Options{})
		return w, nil
	}
	var err error
	if s.Paths == PathsHost {
		w.Driver, err = disk.NewHost([]string{s.Dir}, disk.Options{})
	} else {
		w.Driver, err = disk.New(s.Dir, disk.Options{})
	}
	if err != nil {
		return nil, Usage(err)
	}
	if s.Sandbox == SandboxNone {
		h, err := host.New(w.Driver, host.Options{Logger: log})
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.Sandbox = h
	}
	return w, nil
}

// closeTime bounds how long ending background processes may take.
const closeTime = 10 * time.Second

// Close ends every process of the shell and closes the files.
func (w *Workspace) Close() error {
	var err error
	if w.Sandbox != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		err = w.Sandbox.Close(ctx)
	}
	if c, ok := w.Driver.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Config is the configuration of the binary's default stack on the workspace. The caller answers for what yolo mode runs.
func (w *Workspace) Config(s *Settings, log *slog.Logger) deepagents.Config {
	mode := s.Policy()
	c := deepagents.Config{
		Backend: w.Driver, Sandbox: w.Sandbox, Mode: mode, Unattended: mode == policy.Yolo, Logger: log,
		Advisory: deepagents.DefaultDenies(),
		Files:    filesystem.Options{StaleGuard: true},
	}
	if mode == policy.Yolo {
		c.Advisory = deepagents.DefaultWriteDenies()
	}
	return c
}

// Warn says on w what is dangerous about the settings.
func (w *Workspace) Warn(s *Settings, out io.Writer) {
	if s.Policy() != policy.Yolo || w.Sandbox == nil {
		return
	}
	who := "this user"
	if os.Geteuid() == 0 {
		who = "root"
	}
	fmt.Fprintf(out, "warning: --mode yolo with --sandbox none: every command runs on this machine as %s, without asking\n", who)
}

// Prompt is the system prompt of `deepagents run`.
func Prompt(s *Settings, shell bool) string {
	root := "/"
	if s.Paths == PathsHost && s.Backend == BackendDisk {
		root = filepath.ToSlash(s.Dir)
	}
	p := "You work on the files of a project with tools, on behalf of a person who is not there to answer.\n\n" +
		"The project is in `" + root + "`. Relative paths start there; the file tools reach nothing outside of it.\n\n" +
		"- Look before you change: list, search and read what the task is about first.\n" +
		"- Make the smallest change that does the task, in the style of what is there.\n" +
		"- A call that is refused says why. Do not look for a way around it: do what is possible without it, and say what was not.\n"
	if shell {
		p += "- Commands that you run with execute start in that directory, without a terminal and without input. " +
			"Run the tests or the program after a change, and read what they print.\n"
	}
	return p + "- When the task is done, say in a few sentences what you changed and what you found."
}
