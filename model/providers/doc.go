// Package providers opens the model of any provider that this module ships, by "provider:model". The providers, what they speak,
// where they are, which variables hold their keys and what they do differently stand in one table, table.go; adding one that
// speaks OpenAI's Chat Completions is adding a row.
//
// The package links every vendor's SDK, so only programs import it; libraries take a model.Model.
//
// No row was ever run against its live service. The rows that speak OpenAI's formats are tested against a local server, with
// their quirks; what the quirks are rests on the providers' documentation.
package providers
