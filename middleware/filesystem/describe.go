package filesystem

import (
	"path"
	"strings"
)

// Description returns the description of a tool for a model that sees the tools which visible names. A description of
// [Options.Descriptions] is returned as it is; the others advise only tools that are there.
func (m *Middleware) Description(name string, visible func(tool string) bool) string {
	if s := m.o.Descriptions[name]; s != "" {
		return s
	}
	lines := m.description(name, visible)
	return strings.Join(lines, "\n")
}

func (m *Middleware) description(name string, visible func(string) bool) []string {
	switch name {
	case lsName:
		return []string{
			"Lists the entries of one directory, sorted by name.",
			"- Directories end with /. Hidden names are listed, entries of subdirectories are not.",
			"- Use it to look around before you read or edit files.",
		}
	case readName:
		return m.describeRead()
	case writeName:
		return m.describeWrite()
	case editName:
		return []string{
			"Replaces an exact text in a file.",
			"- Read the file before you edit it.",
			"- old_string must be the text as it stands in the file, with its exact indentation. Never include the @@ header line of read_file.",
			"- old_string must occur once; add surrounding lines to make it unique, or set replace_all to change every occurrence.",
			"- Prefer editing a file that exists to creating a new one.",
			"- Write emoji only when the user asks for them.",
		}
	case deleteName:
		return []string{
			"Deletes a file or a directory for good.",
			"- A directory goes with everything below it, in one call.",
			"- It cannot be undone: be sure that nobody needs what you delete.",
			"- A symbolic link is deleted itself; what it leads to stays.",
		}
	case globName:
		return []string{
			"Finds files by name with a pattern and returns their paths, sorted. Only files are found, no directories.",
			"- * matches any characters of one name, ? one character, [abc] one of a set, {a,b} one of a list, and ** any number of directories.",
			"- A pattern without / is compared with the file name at any depth: *.py finds every Python file.",
			"- A pattern with / is compared with the whole path below the search root: src/**/*.ts. A leading / anchors it there.",
			"- Names that begin with a dot need an explicit dot: .* or .github/**.",
			"- ** does not enter directories that begin with a dot, so *.yml finds more than **/*.yml.",
		}
	case grepName:
		return m.describeGrep(visible)
	case executeName:
		return m.describeExecute(visible)
	}
	return nil
}

func (m *Middleware) describeRead() []string {
	lines := []string{
		"Reads a file.",
		"- It returns 100 lines from the beginning unless you say otherwise. Page through a longer file with offset and limit.",
		"- The result begins with a header line such as @@ lines 1-100 of 250 | next offset 100 @@, then the lines follow exactly as they stand in the file. A notice in [brackets] may stand above the header.",
		"- The header is not part of the file: never copy it into an edit.",
		"- When a page is cut inside a line, the header names the next column: pass it as column, with the same line as offset, to read on.",
		"- Read several files in one turn when you need them all.",
		"- An empty file gives a reminder instead of a header.",
		"- Large results of other tools are saved to files; read them with this tool, a part at a time.",
		"- Images, sound, video, PDF and PowerPoint files come back as media; offset and limit do not apply to them.",
		"- Read a file before you edit it.",
	}
	return lines
}

func (m *Middleware) describeWrite() []string {
	if m.o.CreateOnly {
		return []string{
			"Creates a new file with the given content.",
			"- A file that exists is never replaced: edit it instead.",
			"- Missing parent directories are created.",
		}
	}
	return []string{
		"Writes a file: creates it, or replaces its whole content.",
		"- You need not read the file before, but everything that was in it is gone afterwards.",
		"- Missing parent directories are created.",
		"- Prefer editing files that exist to writing them anew.",
	}
}

func (m *Middleware) describeGrep(visible func(string) bool) []string {
	lines := []string{
		"Searches files for a literal text. It is no regular expression: every character stands for itself, and case matters.",
		"- To look for one of several texts, run one search for each.",
	}
	if visible(executeName) {
		lines = append(lines, "- When you really need a regular expression, run rg through execute.")
	}
	return append(lines,
		"- output_mode decides what you get: files_with_matches (default) the paths, content the lines with their numbers, count the matches in each file.",
		"- "+m.describeLeftOut(),
		"- Large results of other tools are saved below "+path.Join("/", m.o.ArtifactsRoot, "large_tool_results")+"/ and can be searched there.",
	)
}

// describeLeftOut says which files grep does not search.
func (m *Middleware) describeLeftOut() string {
	s := "Binary files are left out."
	if !m.o.GrepHidden {
		s += " So are names that begin with a dot, unless path or glob names them."
	}
	if !m.o.GrepNoIgnore {
		s += " Files that ignore files exclude are left out too, unless path leads to them."
	}
	return s
}

func (m *Middleware) describeExecute(visible func(string) bool) []string {
	lines := []string{
		"Runs a command in a shell and returns its output, standard error included, with the exit code.",
		"- It works only where the backend can run commands.",
		"- Put paths with spaces in double quotes.",
		"- Chain commands with ; or &&, not with line breaks outside of quotes.",
		"- Every call starts in the working directory again: use absolute paths and avoid cd.",
		"- Pass timeout, in seconds, for a command that needs longer than the default.",
	}
	var instead []string
	if visible(grepName) {
		instead = append(instead, "grep for searching text")
	}
	if visible(globName) {
		instead = append(instead, "glob for finding files")
	}
	if visible(readName) {
		instead = append(instead, "read_file for reading")
	}
	if len(instead) > 0 {
		lines = append(lines, "- Use the tools "+strings.Join(instead, ", ")+" rather than the shell's "+m.shellTwins(visible)+".")
	}
	return append(lines, describeMappings(m.mappings())...)
}

// describeMappings says how to translate paths where the shell names files differently.
func describeMappings(ms []mapping) []string {
	if !differs(ms) {
		return nil
	}
	lines := make([]string, 0, len(ms))
	for _, x := range ms {
		if x.reachable {
			lines = append(lines, "- What the file tools call "+slashed(x.virtual)+" is "+slashed(x.shell)+" in the shell: translate paths before you use them in a command.")
		} else {
			lines = append(lines, "- What lies below "+slashed(x.virtual)+" cannot be reached from the shell.")
		}
	}
	return lines
}

// shellTwins lists the commands that the visible tools replace.
func (m *Middleware) shellTwins(visible func(string) bool) string {
	var cmds []string
	for _, t := range []struct{ tool, cmd string }{{grepName, "grep"}, {globName, "find"}, {readName, "cat, head and tail"}} {
		if visible(t.tool) {
			cmds = append(cmds, t.cmd)
		}
	}
	return strings.Join(cmds, ", ")
}
