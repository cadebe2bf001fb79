package cudasim

// copies are the asynchronous copies that a warp has begun.
type copies struct{}

func (c *copies) reset()                     {}
func (c *copies) leave(w *warp, exec uint32) {}

type bulkCopy struct{}

func (c *bulkCopy) land(b *block) {}

func addAsync() {}

// compileFence orders memory.
func compileFence(c *compiler) {
	c.q.one("proxy")
	c.q.one("sc", "acq_rel", "acquire", "release", "alias", "async", "async.global")
	c.q.one("cta", "gpu", "sys", "cluster", "gl")
	c.args(0)
	in := none(kindFn, classSync)
	in.fn = func(w *warp, in *inst, exec uint32) status {
		w.fenced(exec)
		return statusNext
	}
	c.emit(in)
}
