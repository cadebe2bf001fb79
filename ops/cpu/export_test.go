package cpu

// Together is how many features a reduction makes together.
const Together = together

// BitsOf are a tensor's elements as words.
var BitsOf = bitsOf
