// Package policy holds the values that say what code wants to do and whether it may: actions, verdicts, path rules and the
// approval modes.
//
// A tool names its [Action]s before it runs ([github.com/deepagents-go/deepagents/tool.Actor]); a [Judge] answers each with a
// [Verdict]; the strictest verdict of all judges wins. Path rules ([PathRule]) are data, not functions, so that they can travel
// to wherever the files are and be judged there on the name of the opened file.
//
// The package knows no tool, no file system and no user interface. Rules for shell commands, layers of configuration and the
// audit log live in policy/rules.
package policy
