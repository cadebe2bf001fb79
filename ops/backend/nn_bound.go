package backend

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// all adds a list of tensors, with the names name[0], name[1] and so on.
func (b *Bound) all(name string, list []*tensor.Tensor) {
	for i, t := range list {
		b.add(fmt.Sprintf("%s[%d]", name, i), t)
	}
}

// found adds the statistics of a LayerNorm: its mean and rstd for each row. It adds nothing if s is nil.
func (b *Bound) found(name string, s *NormStats) {
	if s != nil {
		b.add(name+".Mean", s.Mean)
		b.add(name+".Rstd", s.Rstd)
	}
}

// normed adds the inputs of a LayerNorm. It adds nothing if s is nil.
func (b *Bound) normed(name string, s *NormStats) {
	if s != nil {
		b.add(name+".Z", s.Z)
		b.add(name+".Gamma", s.Gamma)
		b.add(name+".Beta", s.Beta)
	}
}

// Bound lists the job's tensors.
func (j *MatMulJob) Bound() Bound {
	b := Bound{op: "MatMul"}
	b.add("Pre", j.Pre)
	b.found("Norm", j.Norm)
	b.add("DGamma", j.DGamma)
	b.add("DBeta", j.DBeta)
	b.add("Sum", j.Sum)
	b.add("Out", j.Out)
	b.outputs()
	b.add("A", j.A)
	b.add("B", j.B)
	b.add("Bias", j.Bias)
	b.add("Gate", j.Gate)
	b.add("Dropout.State", j.Dropout.State)
	b.add("Residual", j.Residual)
	b.found("ResidualNorm", j.ResidualNorm)
	b.normed("ResidualNorm", j.ResidualNorm)
	b.normed("Norm", j.Norm)
	b.found("NormBack", j.NormBack)
	b.normed("NormBack", j.NormBack)
	b.add("After", j.After)
	b.add("OutDropout.State", j.OutDropout.State)
	return b
}

// Bound lists the job's tensors.
func (j *NormJob) Bound() Bound {
	b := Bound{op: "Norm"}
	b.found("Norm", &j.Norm)
	b.add("Out", j.Out)
	b.add("Sum", j.Sum)
	b.outputs()
	b.normed("Norm", &j.Norm)
	return b
}

// Bound lists the job's tensors.
func (j *NormBackwardJob) Bound() Bound {
	b := Bound{op: "NormBackward"}
	b.add("DGamma", j.DGamma)
	b.add("DBeta", j.DBeta)
	b.add("Sum", j.Sum)
	b.add("Out", j.Out)
	b.outputs()
	b.add("G", j.G)
	b.found("Norm", &j.Norm)
	b.normed("Norm", &j.Norm)
	b.add("After", j.After)
	b.add("OutDropout.State", j.OutDropout.State)
	return b
}

// Bound lists the job's tensors.
func (j *AttentionJob) Bound() Bound {
	b := Bound{op: "Attention"}
	b.add("O", j.O)
	b.add("LogSum", j.LogSum)
	b.outputs()
	j.inputs(&b)
	return b
}

func (j *AttentionJob) inputs(b *Bound) {
	b.add("Q", j.Q)
	b.add("K", j.K)
	b.add("V", j.V)
	b.add("Pad", j.Pad)
	b.add("Dropout.State", j.Dropout.State)
}

// Bound lists the job's tensors.
func (j *AttentionBackwardJob) Bound() Bound {
	b := Bound{op: "AttentionBackward"}
	b.add("DQ", j.DQ)
	b.add("DK", j.DK)
	b.add("DV", j.DV)
	b.outputs()
	b.add("DO", j.DO)
	b.add("O", j.O)
	b.add("LogSum", j.LogSum)
	j.inputs(&b)
	return b
}

// Bound lists the job's tensors.
func (j *WeightGradientJob) Bound() Bound {
	b := Bound{op: "WeightGradient"}
	b.add("Gradient", j.Gradient)
	b.outputs()
	for i := range j.Products {
		b.add(fmt.Sprintf("Products[%d].DY", i), j.Products[i].DY)
		b.add(fmt.Sprintf("Products[%d].X", i), j.Products[i].X)
	}
	for i := range j.Sums {
		b.add(fmt.Sprintf("Sums[%d].X", i), j.Sums[i].X)
	}
	return b
}

// Bound lists the job's tensors.
func (j *GradientNormJob) Bound() Bound {
	b := Bound{op: "GradientNorm"}
	b.add("Sum", j.Sum)
	b.all("Squares", j.Squares)
	b.outputs()
	b.all("Gradients", j.Gradients)
	return b
}

// Bound lists the job's tensors.
func (j *AdamWJob) Bound() Bound {
	b := Bound{op: "AdamW"}
	b.add("Params", j.Params)
	b.add("M", j.M)
	b.add("V", j.V)
	b.add("Average", j.Average)
	b.all("Working", j.Working)
	b.all("Copies", j.Copies)
	b.add("Norm", j.Norm)
	b.outputs()
	b.all("Gradients", j.Gradients)
	b.add("Schedule", j.Schedule)
	b.add("State", j.State)
	b.add("Squares", j.Squares)
	return b
}

// Bound lists the job's tensors.
func (j *TokensJob) Bound() Bound {
	b := Bound{op: "Tokens"}
	b.add("Input", j.Input)
	b.add("Targets", j.Targets)
	b.add("Weights", j.Weights)
	b.add("State", j.State)
	b.outputs()
	for i := range j.Sources {
		j.Sources[i].inputs(&b, fmt.Sprintf("Sources[%d]", i))
	}
	b.add("Scale", j.Scale)
	b.add("Shift", j.Shift)
	b.add("Relative", j.Relative)
	b.add("Reference.Values", j.Reference.Values)
	b.add("Reference.Valid", j.Reference.Valid)
	if j.Target != nil {
		j.Target.inputs(&b, "Target")
	}
	b.add("TargetScale", j.TargetScale)
	b.add("TargetShift", j.TargetShift)
	b.add("TargetRelative", j.TargetRelative)
	return b
}

func (s *TokenSource) inputs(b *Bound, name string) {
	b.add(name+".Values", s.Values)
	b.add(name+".Valid", s.Valid)
	b.add(name+".Pad", s.Pad)
}

// Bound lists the job's tensors.
func (j *EmbedJob) Bound() Bound {
	b := Bound{op: "Embed"}
	b.add("Out", j.Out)
	b.add("DTable", j.DTable)
	b.outputs()
	b.add("Position", j.Position)
	b.add("Table", j.Table)
	b.add("ID", j.ID)
	b.add("G", j.G)
	return b
}

// Bound lists the job's tensors.
func (j *LossJob) Bound() Bound {
	b := Bound{op: "Loss"}
	b.add("Grad", j.Grad)
	b.add("Partials", j.Partials)
	b.add("Losses", j.Losses)
	b.add("State", j.State)
	b.outputs()
	b.add("Prediction", j.Prediction)
	b.add("Target", j.Target)
	b.add("Class", j.Class)
	b.add("Weights", j.Weights)
	return b
}
