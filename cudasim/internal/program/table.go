package program

func init() {
	for _, add := range []func(){addFlow, addInt, addBits, addFloat, addConvert, addMove,
		addMemory, addAtomics, addWarp, addBarriers, addAsync, addMatrix} {
		add()
	}
}
