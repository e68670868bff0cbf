// Package modeltest is the conformance suite of model.Model. A provider's test calls [Run] once, with a function that connects
// the provider to something that answers as a script says: for a vendor's package, a local server that speaks its wire format.
package modeltest
