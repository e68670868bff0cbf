// Package message holds what a conversation is made of: messages, their parts, and [List], the persistent list that is the value
// of the state key "messages".
//
// Messages are values that nobody changes once they are in a list: change a copy ([Message.Clone]). Their JSON is stable: the
// same message always encodes to the same bytes, and what was decoded from a provider encodes back byte for byte.
package message
