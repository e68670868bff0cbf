// Package lineage answers, for every thread store alike, which records a branch sees and which of them pruning removes. It works
// on branches and numbers only; where the records are is the store's business.
package lineage
