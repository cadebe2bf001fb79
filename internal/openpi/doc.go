// Package openpi serves a policy over WebSocket, by openpi's protocol.
//
// A client sends one message for each request, in MessagePack, and receives one reply. The first message is the server's: a map that describes
// the policy. A request maps stream names to arrays [T,D]. The reply maps "actions" to an array [C,A] of "<f8", and "server_timing" to
// the numbers "infer_ms" and, after the first request, "prev_total_ms". An array is a map with binary keys: "__ndarray__" is true, "dtype" is
// NumPy's type name, "shape" is a list, and "data" has the elements in row-major order. A failed request gets a text message with the error, and
// then the server closes the connection.
//
// The server keeps nothing after a reply. It processes one request at a time. GET /healthz answers "OK", and
// GET /metrics has the counts. With a token, all but /healthz need the header "Authorization: Api-Key TOKEN". Requests from web pages are refused.
package openpi
