// Package filedata is the form in which files are kept as JSON, in the state of a thread and in stores. It is the form of Deep Agents,
// both its ages.
package filedata
