package filesystem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// mapping is how the shell names a directory of the file tools.
type mapping struct {
	virtual, shell string
	// reachable says that the shell can reach it at all.
	reachable bool
}

// mappings returns how the shell names each mounted directory, the longest prefix first.
func (m *Middleware) mappings() []mapping {
	if m.o.Sandbox == nil {
		return nil
	}
	var out []mapping
	d := m.fs.Driver()
	own := driver.Split(m.o.Sandbox, "/")
	apart := m.o.Sandbox.Policy().Files // names of the host mean nothing in there
	for _, mount := range driver.Split(d, "/") {
		x := mapping{virtual: mount.Prefix}
		if mount.Driver == driver.Driver(m.o.Sandbox) {
			x.shell, x.reachable = "/", true
		}
		foreign := apart && !slices.ContainsFunc(own, func(o driver.Mount) bool { return o.Driver == mount.Driver })
		if l, _, rel, ok := driver.As[driver.Located](d, mount.Prefix); ok && !foreign {
			if shell, ok := l.Locate(rel); ok {
				x.shell, x.reachable = shell, true
			}
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b mapping) int {
		return cmp.Or(cmp.Compare(len(b.virtual), len(a.virtual)), cmp.Compare(a.virtual, b.virtual))
	})
	return out
}

// differs reports whether the shell names any file differently from the file tools.
func differs(ms []mapping) bool {
	return slices.ContainsFunc(ms, func(x mapping) bool { return !x.reachable || x.virtual != x.shell })
}

// Prompt returns what the system prompt must say about paths, or "" when the shell and the file tools agree or the model sees no
// execute tool.
func (m *Middleware) Prompt(visible func(tool string) bool) string {
	ms := m.mappings()
	if !visible(executeName) || !differs(ms) {
		return ""
	}
	var known, hidden []string
	for _, x := range ms {
		v := slashed(x.virtual)
		if !x.reachable {
			hidden = append(hidden, "- `"+v+"`")
			continue
		}
		s := slashed(x.shell)
		known = append(known, "- `"+v+"` -> `"+s+"` (e.g. `"+v+"notes.txt` is `"+s+"notes.txt` in the shell)")
	}
	var b strings.Builder
	b.WriteString("## Shell paths vs. virtual paths\n\nThe file tools use virtual paths. Commands that you run with execute see the paths of the host only, so translate a path before you use it in a command.")
	if len(known) > 0 {
		b.WriteString("\n\nHost path mappings:\n" + strings.Join(known, "\n"))
	}
	if len(hidden) > 0 {
		b.WriteString("\n\nVirtual mounts without a host path mapping (not accessible from the shell):\n" + strings.Join(hidden, "\n"))
	}
	return b.String()
}

// slashed ends a directory with a slash.
func slashed(dir string) string {
	if strings.HasSuffix(dir, "/") {
		return dir
	}
	return dir + "/"
}
