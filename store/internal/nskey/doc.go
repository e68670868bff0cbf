// Package nskey writes a namespace as one string whose byte order is the order of the labels, so that the namespaces below a prefix
// are a range.
package nskey
