package backend

import "github.com/robocache/robocache/tensor"

// AttentionJob is softmax(scale·Q·Kᵀ)·V of each batch row and head. Head h has columns h*Width to (h+1)*Width-1 of Q, O, K and V.
type AttentionJob struct {
	B, Heads, Width int // Width is 32 or 64
	TQ, TK          int
	Scale           float32
	Causal          bool           // query t sees keys up to t
	Q, O            *tensor.Tensor // [B*TQ, Heads*Width] Working; O is written
	K, V            *tensor.Tensor // [B*TK, Heads*Width] Working
	Pad             *tensor.Tensor // [B,TK] u8, 1 for a key that nobody sees; nil. A query that sees no key gives 0
	LogSum          *tensor.Tensor // [B,Heads,TQ] F32, written: the logarithm, base 2, of each row's sum of exponentials
	Dropout         Dropout        // of the probabilities: number ((b*Heads+h)*TQ+q)*TK+k
}

// AttentionBackwardJob is its gradient.
type AttentionBackwardJob struct {
	AttentionJob                // O and LogSum are read
	DO           *tensor.Tensor // [B*TQ, Heads*Width] Working
	DQ, DK, DV   *tensor.Tensor // as Q, K and V, written
	Delta        *tensor.Tensor // [B,Heads,TQ] F32, scratch
}
