// Package jsonenc appends JSON to a byte slice: what the journal and the event stream, which write on every step, need of
// encoding/json and no more. Strings come out as encoding/json writes them without HTML escaping.
package jsonenc
