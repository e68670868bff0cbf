// Package textio holds what every tool must agree on about text: where lines end, what a binary file is, how bytes that are no
// UTF-8 are shown, and how an exact replacement keeps every byte that it does not name.
package textio
