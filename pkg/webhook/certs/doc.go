// Package certs makes, renews and spreads the certificates of the webhook server (workloadspread.md C5).
//
// All of it is kept in one Secret under OpenKruise's keys, so that either can take over from the other. A CA is changed in
// three steps, each of which has to stand for a while before the next one: the new CA is trusted beside the old one; the
// server's certificate is made by the new one; the old one is forgotten. Whoever asks during a change therefore trusts
// every certificate that any replica may serve.
//
// One process writes, the one that holds the manager's Lease; all others follow the Secret. Keys are never logged.
package certs
