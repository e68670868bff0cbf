package filesystem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// text is a string argument that remembers whether its JSON form holds something that cannot be stored as text: an unpaired
// surrogate escape or bytes that are no UTF-8. The JSON decoder would silently make U+FFFD of both.
type text struct {
	s string
	// fault is what cannot be stored, "" when the text is sound.
	fault string
}

// UnmarshalJSON decodes a JSON string.
func (t *text) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &t.s); err != nil {
		return err
	}
	t.fault = textFault(raw)
	return nil
}

// textFault says what of a JSON string cannot be decoded without loss.
func textFault(raw []byte) string {
	if !utf8.Valid(raw) {
		return "bytes that are not valid UTF-8"
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return ""
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(raw, i)
		if !ok {
			continue
		}
		i += 4
		switch {
		case unit < 0xD800 || unit > 0xDFFF:
		case unit <= 0xDBFF && i+2 < len(raw) && raw[i+1] == '\\':
			if low, ok := escapedUnit(raw, i+2); ok && low >= 0xDC00 && low <= 0xDFFF {
				i += 6
				continue
			}
			return surrogateFault(unit)
		default:
			return surrogateFault(unit)
		}
	}
	return ""
}

func surrogateFault(unit uint64) string {
	return fmt.Sprintf(`an unpaired surrogate escape (\u%04x)`, unit)
}

// escapedUnit reads "uXXXX" at a position.
func escapedUnit(raw []byte, i int) (uint64, bool) {
	if i+5 > len(raw) || raw[i] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
	return unit, err == nil
}

// The arguments of the tools. Fields of type text are written to files or searched in them.
type (
	lsArgs struct {
		Path text `json:"path"`
	}
	readArgs struct {
		Path   text `json:"file_path"`
		Offset int  `json:"offset"`
		Limit  *int `json:"limit"`
		Column int  `json:"column"`
	}
	writeArgs struct {
		Path    text `json:"file_path"`
		Content text `json:"content"`
	}
	editArgs struct {
		Path text `json:"file_path"`
		Old  text `json:"old_string"`
		New  text `json:"new_string"`
		All  bool `json:"replace_all"`
	}
	deleteArgs struct {
		Path text `json:"file_path"`
	}
	globArgs struct {
		Pattern text  `json:"pattern"`
		Path    *text `json:"path"`
	}
	grepArgs struct {
		Pattern text   `json:"pattern"`
		Path    *text  `json:"path"`
		Glob    *text  `json:"glob"`
		Mode    string `json:"output_mode"`
		Max     *int   `json:"max_count"`
	}
	executeArgs struct {
		Command text `json:"command"`
		Timeout *int `json:"timeout"`
	}
)

// decode decodes the arguments of a call. Arguments were validated against the schema before.
func decode[T any](args json.RawMessage) (T, error) {
	var in T
	if err := json.Unmarshal(args, &in); err != nil {
		return in, fmt.Errorf("arguments: %w", err)
	}
	return in, nil
}
