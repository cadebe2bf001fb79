package backend

import "github.com/robocache/robocache/tensor"

// AttentionJob is softmax(Scale·Q·Kᵀ)·V for each batch row and head. Head h has columns h*Width to (h+1)*Width-1 in Q,
// O, K and V.
//
// With bfloat16, each query is computed as follows. a = Scale*log2(e) is rounded to float32, E is fp32.Exp2Down, and
// products are summed as in MatMul, 16 at a time:
//
//	score:   s = the product of the query and a key; -2^120 if the query does not see the key
//	at first ref = -2^100, and the sums l and o[Width] are 0
//	every AttentionBlock keys, ascending:
//	    y = a * the greatest s in the block (NaN, if one is NaN)
//	    unless y <= ref + 8: l and o are multiplied by E(ref - y), ref = y
//	    p = E(fma(s, a, -ref)), rounded to bfloat16
//	    l += p·1; o += p·V, where p is 0 if dropout removes it
//	O = o * (f/l), where f is 1 or dropout's factor; LogSum = ref + fp32.Log2(l)
//	if l is 0, because the query sees no key: O = 0; LogSum = +Inf, so that all its probabilities are 0
type AttentionJob struct {
	B, Heads, Width int // Width is 32 or 64
	TQ, TK          int
	Scale           float32        // greater than 0
	Causal          bool           // query t sees keys up to t
	Q, O            *tensor.Tensor // [B*TQ, Heads*Width] Working; O is written
	K, V            *tensor.Tensor // [B*TK, Heads*Width] Working
	Pad             *tensor.Tensor // [B,TK] u8, 1 for a key that no query sees, so its K and V are never read; nil
	LogSum          *tensor.Tensor // [B,Heads,TQ] F32, written: the base-2 logarithm of each row's sum of exponentials
	Dropout         Dropout        // on the probabilities, with the number ((b*Heads+h)*TQ+q)*TK+k
}

// AttentionBlock is the number of keys that Attention handles at once. Their greatest score may update ref.
const AttentionBlock = 32

// AttentionBackwardJob is the gradient of Attention. With bfloat16, for each query q and key k, with s, a, E and f as
// in AttentionJob:
//
//	p = E(fma(s, a, -LogSum[q]))
//	delta[q]: a partial sum of DO*O from 0 for each 8 columns; neighbours are added, then neighbours among those sums
//	g = the product of row q in DO and row k in V; times f, or 0 if dropout removes the probability
//	d = p * (g - delta[q]), rounded to bfloat16
//	DQ = (d·K) * Scale, 16 keys at a time, ascending
//	DK = (dᵀ·Q) * Scale, 16 queries at a time, ascending
//	DV = (pᵀ·DO) * f, with p rounded to bfloat16, or 0 if dropout removes it
type AttentionBackwardJob struct {
	AttentionJob                // O and LogSum are read
	DO           *tensor.Tensor // [B*TQ, Heads*Width] Working
	DQ, DK, DV   *tensor.Tensor // as Q, K and V, written
}
