package backend

// DrawOrder says in which order windows are drawn, and how they are dealt to the ranks. Package ops has it as part of DrawOptions.
type DrawOrder struct {
	Count, Batch, Rank, Ranks int
	Last                      LastBatch
	Shuffle                   bool
	Seed                      uint64
}

// Cursor is a place in the order of draws, as the tensor of that name has it: in an epoch, behind so many of its positions. It is all
// that has to be kept to go on from there.
type Cursor struct{ Epoch, Taken int64 }

// step is how many positions a batch of all ranks takes.
func (o *DrawOrder) step() int64 { return int64(o.Batch) * int64(max(o.Ranks, 1)) }

// Batches returns the number of batches of an epoch, the same for every rank. Count and Batch are at least 1.
func (o DrawOrder) Batches() int {
	n, step := int64(o.Count), o.step()
	if o.Last == LastDrop {
		return int(n / step)
	}
	return int((n-1)/step) + 1
}

// Dropped returns how many windows no rank draws in an epoch: those that fill no batch, under LastDrop.
func (o DrawOrder) Dropped() int {
	if o.Last == LastShort {
		return 0
	}
	return int(int64(o.Count) % o.step())
}

// Missing returns how many rows of an epoch's last batch, those of all ranks together, have no window: under LastShort.
func (o DrawOrder) Missing() int {
	if o.Last == LastDrop {
		return 0
	}
	return int((o.step() - int64(o.Count)%o.step()) % o.step())
}

// Next returns where the batch that is drawn next begins, which is in the next epoch where this one has no more, and the cursor behind
// it.
func (o DrawOrder) Next(c Cursor) (begin, after Cursor) {
	n, step := int64(o.Count), o.step()
	if o.Last == LastDrop && c.Taken > n-step || c.Taken >= n {
		c = Cursor{c.Epoch + 1, 0}
	}
	left := n - c.Taken
	return c, Cursor{c.Epoch, c.Taken + min(step, left)}
}

// Position returns the position of row i in the batch that begins at a cursor; false where the epoch has none for it.
func (o DrawOrder) Position(begin Cursor, i int) (int64, bool) {
	p := begin.Taken + int64(o.Rank) + int64(max(o.Ranks, 1))*int64(i)
	return p, p >= 0 && p < int64(o.Count)
}

// feistelWide is how many windows take the rounds for many.
const feistelWide = 1 << 12

// half is how many bits the two halves of a number have in the permutation, and rounds how many rounds it has.
func (o *DrawOrder) half() int {
	h := 1
	for h < 31 && uint64(1)<<(2*h) < uint64(o.Count) {
		h++
	}
	return h
}

func (o *DrawOrder) rounds() int {
	if o.Count <= feistelWide {
		return 8
	}
	return 4
}

// Window returns the number of the window at a position of an epoch, 0 to Count-1.
//
// The permutation is a Feistel network (Luby and Rackoff, 1988) on numbers of 2h bits, the smallest even number of bits, at least
// 2, with 2^2h >= Count. A round makes of the halves (l, r), l the upper one, (r, l ^ (mix(r ^ k) mod 2^h)). There are four
// rounds, and eight where Count is at most 4096: of halves of few bits four rounds show in how often two neighbours come to lie how
// far apart. A result of Count or more goes through the network again until one is smaller (cycle-walking: Black and Rogaway,
// Ciphers with arbitrary finite domains, 2002).
//
// mix is the 32-bit finalizer of MurmurHash3 (Appleby): x ^= x>>16, x *= 0x85ebca6b, x ^= x>>13, x *= 0xc2b2ae35, x ^= x>>16. Round i,
// from 0, has k = mix(mix(mix(mix(lo(Seed) + (i%4+1)*0x9e3779b9) ^ hi(Seed)) ^ lo(epoch)) ^ hi(epoch)) + (i/4)*0x9e3779b9, with lo and
// hi the halves of 64 bits. All arithmetic is modulo 2^32.
func (o DrawOrder) Window(epoch, position int64) int64 {
	if !o.Shuffle {
		return position
	}
	return o.Permute(o.Keys(epoch), position)
}

const feistelKeys = 4

// Keys are those of an epoch's permutation.
type Keys [feistelKeys]uint32

// Keys returns the keys of an epoch.
func (o *DrawOrder) Keys(epoch int64) Keys {
	seed := seedKeys(o.Seed)
	return epochKeys(&seed, epoch)
}

// feistelStep tells the keys of rounds apart.
const feistelStep = 0x9e3779b9

func feistelMix(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	return x ^ x>>16
}

// seedKeys is the part of the rounds' keys that every epoch has.
func seedKeys(seed uint64) (k [feistelKeys]uint32) {
	for i := range k {
		k[i] = feistelMix(feistelMix(uint32(seed)+uint32(i+1)*feistelStep) ^ uint32(seed>>32))
	}
	return k
}

// epochKeys are the keys of an epoch's rounds.
func epochKeys(seed *[feistelKeys]uint32, epoch int64) (k [feistelKeys]uint32) {
	for i := range k {
		k[i] = feistelMix(feistelMix(seed[i]^uint32(epoch)) ^ uint32(epoch>>32))
	}
	return k
}

func (o *DrawOrder) Permute(keys Keys, position int64) int64 {
	h, rounds := o.half(), o.rounds()
	mask := uint32(1)<<h - 1
	x := uint64(position)
	for {
		l, r := uint32(x>>h), uint32(x)&mask
		for i := range rounds {
			k := keys[i%feistelKeys] + uint32(i/feistelKeys)*feistelStep
			l, r = r, l^feistelMix(r^k)&mask
		}
		if x = uint64(l)<<h | uint64(r); x < uint64(o.Count) {
			return int64(x)
		}
	}
}
