package backend

import "github.com/robocache/robocache/tensor"

// AttentionJob is softmax(Scale·Q·Kᵀ)·V of each batch row and head. Head h has columns h*Width to (h+1)*Width-1 of Q, O, K and V.
//
// With bfloat16, of each query, where a = Scale*log2(e) is rounded to float32, E is fp32.Exp2Down, and products are MatMul's sums, 16 a time:
//
//	score:   s = the product of the query and a key; -2^120 of a key that the query does not see
//	at first ref = -2^100, and the sums l and o[Width] are 0
//	every AttentionBlock keys, ascending:
//	    y = a * the greatest s of the block (NaN, if one is)
//	    unless y <= ref + 8: l and o are multiplied by E(ref - y), ref = y
//	    p = E(fma(s, a, -ref)), rounded to bfloat16
//	    l += p·1; o += p·V, with the p that dropout leaves out as 0
//	O = o * (f/l), where f is 1 or dropout's factor; LogSum = ref + fp32.Log2(l)
//	if l is 0, since the query sees no key: O = 0; LogSum = +Inf, so that all its probabilities are 0
type AttentionJob struct {
	B, Heads, Width int // Width is 32 or 64
	TQ, TK          int
	Scale           float32        // greater than 0
	Causal          bool           // query t sees keys up to t
	Q, O            *tensor.Tensor // [B*TQ, Heads*Width] Working; O is written
	K, V            *tensor.Tensor // [B*TK, Heads*Width] Working
	Pad             *tensor.Tensor // [B,TK] u8, 1 for a key that nobody sees, whose K and V are never read; nil
	LogSum          *tensor.Tensor // [B,Heads,TQ] F32, written: the logarithm, base 2, of each row's sum of exponentials
	Dropout         Dropout        // of the probabilities: number ((b*Heads+h)*TQ+q)*TK+k
}

// AttentionBlock is how many keys have their maximum taken at once.
const AttentionBlock = 32

// AttentionBackwardJob is its gradient. With bfloat16, of each query q and key k, s, a, E and f as in AttentionJob:
//
//	p = E(fma(s, a, -LogSum[q]))
//	delta[q]: a partial sum from 0 of DO*O of each 8 columns; neighbours are added, then neighbours of those
//	g = the product of row q of DO and row k of V; times f, or 0 if dropout leaves the probability out
//	d = p * (g - delta[q]), rounded to bfloat16
//	DQ = (d·K) * Scale, 16 keys a time, ascending
//	DK = (dᵀ·Q) * Scale, 16 queries a time, ascending
//	DV = (pᵀ·DO) * f, of p rounded to bfloat16, 0 where dropout leaves it out
type AttentionBackwardJob struct {
	AttentionJob                // O and LogSum are read
	DO           *tensor.Tensor // [B*TQ, Heads*Width] Working
	DQ, DK, DV   *tensor.Tensor // as Q, K and V, written
}
