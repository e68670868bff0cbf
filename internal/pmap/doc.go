// Package pmap is a persistent sorted map: an update returns a new map and shares all but a few nodes with the old one, so that
// a snapshot of state costs nothing and the files of a thread can be listed in order.
package pmap
