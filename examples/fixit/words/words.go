// Package words counts words.
package words

import "strings"

// Longest returns the longest word of a text, the first one when several are equally long.
func Longest(text string) string {
	longest := ""
	for _, w := range strings.Fields(text) {
		if len(w) >= len(longest) {
			longest = w
		}
	}
	return longest
}
