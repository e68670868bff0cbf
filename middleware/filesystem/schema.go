package filesystem

import "encoding/json"

// inputSchema is the JSON Schema of a tool's arguments. It is written out so that models and caches see the same bytes for ever.
func inputSchema(name string) json.RawMessage {
	switch name {
	case lsName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Absolute path of the directory to list, such as /src."}` +
			`},"required":["path"]}`)
	case readName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"Absolute path of the file to read."},` +
			`"offset":{"type":"integer","default":0,"description":"Number of lines to skip: 0 starts at the first line. Take it from \"next offset\" in the header of the page before."},` +
			`"limit":{"type":"integer","default":100,"description":"How many lines to return at most."},` +
			`"column":{"type":"integer","default":1,"description":"First character of the first line to return, counted from 1. Take it from \"next column\" in the header to read on inside a very long line."}` +
			`},"required":["file_path"]}`)
	case writeName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"Absolute path of the file to write. Missing parent directories are created."},` +
			`"content":{"type":"string","description":"The whole content of the file."}` +
			`},"required":["file_path","content"]}`)
	case editName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"Absolute path of the file to edit."},` +
			`"old_string":{"type":"string","description":"The exact text to replace, white space included. It must occur once in the file unless replace_all is true."},` +
			`"new_string":{"type":"string","description":"The text to put in its place. It must differ from old_string."},` +
			`"replace_all":{"type":"boolean","default":false,"description":"Replace every occurrence of old_string instead of a single one."}` +
			`},"required":["file_path","old_string","new_string"]}`)
	case deleteName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"Absolute path of the file or directory to delete."}` +
			`},"required":["file_path"]}`)
	case globName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","description":"The pattern, such as *.go, src/**/*.ts or *.{md,txt}."},` +
			`"path":{"type":"string","description":"Absolute path of the directory to search. Left out, the default root is searched."}` +
			`},"required":["pattern"]}`)
	case grepName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","description":"The literal text to find inside one line. It is not a regular expression."},` +
			`"path":{"type":"string","description":"Absolute path of the directory or file to search. Left out, the default root is searched."},` +
			`"glob":{"type":"string","description":"Search only files whose path below the search path matches this pattern, such as *.go. Lists in braces do not work on every backend."},` +
			`"output_mode":{"type":"string","enum":["files_with_matches","content","count"],"default":"files_with_matches","description":"What to return: the paths of matching files, the matching lines with their numbers, or the number of matches in each file."},` +
			`"max_count":{"type":"integer","exclusiveMinimum":0,"description":"Stop after this many matches in total. Left out, a default limit applies."}` +
			`},"required":["pattern"]}`)
	case executeName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","description":"The command line for the shell."},` +
			`"timeout":{"type":"integer","description":"Seconds after which the command is ended, for commands that need more or less than the default."}` +
			`},"required":["command"]}`)
	}
	return nil
}

// outputSchema is the JSON Schema of [tool.Artifact] as far as a tool fills it, or nil when it has no artifact.
func outputSchema(name string) json.RawMessage {
	switch name {
	case writeName, editName, deleteName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"files":{"type":"array","description":"The files that were changed.","items":{"type":"object","properties":{` +
			`"path":{"type":"string"},"op":{"type":"string","enum":["create","edit","delete"]},` +
			`"added":{"type":"integer"},"removed":{"type":"integer"}},"required":["path","op","added","removed"]}}}}`)
	case executeName:
		return json.RawMessage(`{"type":"object","properties":{` +
			`"exit_code":{"type":"integer","description":"The exit code of the command; left out when it is not known."},` +
			`"reason":{"type":"string","description":"How the command ended when it did not end by itself."},` +
			`"truncated":{"type":"boolean","description":"Whether output was cut."}}}`)
	}
	return nil
}
