// Package provider holds what every vendor's package needs and no vendor owns: the order of a conversation that all dialects
// accept, a cache of encoded messages, the table that turns error bodies into kinds, Retry-After, a limit on silence, media as
// text. It imports no SDK.
package provider
