// Package store is the contract of the long-term store: namespaced JSON items that outlive threads and are shared between them.
//
// Implementations live in the packages below this one and are certified by store/storetest.
package store
