// Package model is the contract of language models: a [Model] turns a [Request] into a stream of [Delta]s, an [Accumulator] turns
// the stream into a message and keeps what arrived before a cut.
//
// Providers live in the packages below (script, and one for each vendor); modeltest certifies them. Nothing here imports a
// vendor's SDK.
package model
