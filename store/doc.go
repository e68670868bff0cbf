// Package store is the contract of the long-term store: namespaced JSON items that outlive threads and are shared between them.
//
// Implementations live in the packages below this one and are certified by store/storetest. What they have in common is here: the
// rules of namespaces, filters, the parts of values that are indexed, and the choice of namespaces.
package store
