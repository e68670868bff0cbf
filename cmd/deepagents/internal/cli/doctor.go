package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/model/providers"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

// DoctorOptions say what to look at.
type DoctorOptions struct {
	Version, Data, Model string
}

// check is one finding of the doctor.
type check struct {
	Name string `json:"name"`
	// Status is "ok", "missing" for what one can do without, or "error".
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// Doctor prints what this machine and this build have. Its error has exit code 1 when something that was asked for does not work.
func Doctor(ctx context.Context, o DoctorOptions, out io.Writer, asJSON bool) error {
	checks := []check{
		{"version", "ok", fmt.Sprintf("%s (%s, %s/%s)", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		{"models", "ok", providerNames()},
		checkModel(ctx, o.Model),
		checkLocal(ctx),
		{"backends", "ok", BackendDisk + ", " + BackendState},
		{"sandboxes", "ok", SandboxNone + " (level none: commands run on this machine and nothing confines them)"},
		checkProgram("shell", host.DefaultShell),
		checkProgram("git", "git"),
		checkData(ctx, o.Data),
		{"sqlite", "ok", moduleVersion("modernc.org/sqlite")},
		{"default denies", "ok", denied()},
	}
	failed := slices.ContainsFunc(checks, func(c check) bool { return c.Status == "error" })
	var err error
	if asJSON {
		err = printJSON(out, checks)
	} else {
		for _, c := range checks {
			if _, err = fmt.Fprintf(out, "%-15s %-8s %s\n", c.Name, c.Status, Plain(c.Detail)); err != nil {
				break
			}
		}
	}
	if err == nil && failed {
		return &ExitError{Code: ExitFailure}
	}
	return err
}

func checkModel(ctx context.Context, spec string) check {
	if spec == "" {
		return check{"model", "missing", "none chosen: give --model provider:model, or set DEEPAGENTS_MODEL"}
	}
	m, err := OpenModel(ctx, spec)
	if err != nil {
		return check{"model", "error", err.Error()}
	}
	return check{"model", "ok", m.Name()}
}

// checkLocal asks the addresses of local model servers, for a second at most.
func checkLocal(ctx context.Context) check {
	const name, shown = "local models", 5
	var servers []string
	for _, f := range providers.Detect(ctx) {
		models := strings.Join(f.Models[:min(len(f.Models), shown)], ", ")
		if more := len(f.Models) - shown; more > 0 {
			models += fmt.Sprintf(" and %d more", more)
		}
		servers = append(servers, fmt.Sprintf("%s at %s (%s)", f.Provider, f.BaseURL, cmp.Or(models, "no models")))
	}
	if len(servers) == 0 {
		return check{name, "missing", "no server of ollama, lmstudio or vllm answers"}
	}
	return check{name, "ok", strings.Join(servers, "; ")}
}

func checkProgram(name, program string) check {
	path, err := exec.LookPath(program)
	if err != nil {
		return check{name, "missing", err.Error()}
	}
	return check{name, "ok", path}
}

// checkData opens the threads when there are some. It creates nothing.
func checkData(ctx context.Context, data string) check {
	const name = "data"
	dir, err := DataDir(data)
	if err != nil {
		return check{name, "error", err.Error()}
	}
	if _, err := os.Stat(Database(dir)); err != nil {
		return check{name, "ok", dir + " (no threads yet)"}
	}
	s, err := OpenThreads(ctx, dir)
	if err != nil {
		return check{name, "error", err.Error()}
	}
	n := 0
	for _, err = range s.List(ctx) {
		if err != nil {
			break
		}
		n++
	}
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return check{name, "error", fmt.Sprintf("%s: %v", dir, err)}
	}
	return check{name, "ok", fmt.Sprintf("%s (%d threads)", dir, n)}
}

// moduleVersion is the version of a module that is linked in.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return path + " " + m.Version
			}
		}
	}
	return path
}

// denied lists what the file tools refuse by default, and that a shell does not obey it.
func denied() string {
	var out []string
	for _, r := range deepagents.DefaultDenies() {
		out = append(out, r.Paths...)
	}
	return strings.Join(out, " ") + " (file tools only; with --sandbox none they are advice: a command can read these files)"
}
