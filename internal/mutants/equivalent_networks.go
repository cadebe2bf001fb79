package main

// networkArguments are those about kernels of networks.
var networkArguments = []argument{
	{"the magic number taken off", networks, rounding, re(`add\.rn\.f32\s.*, 0fCB400000;`), anything, 0,
		"exp2: what it was added to is far smaller, so that the sum is within a factor of two of it and their difference exact"},
	{"an exponent at the end", networks, ".", re(`setp\.(lt|gt)\.f32\s.*, 0f([4C]3010000|[4C]3170000);`), anything, 0,
		"exp2_exact cuts its argument at 129 and -151: what is equal to one is cut to the same"},
	{"the high half of an element's number", networks, "xor becomes or", re(`xor\.b32`),
		re(`shr\.u64[^\n]*, 34;\n(\s*(cvt|mov|mul|//|ld|\.|\{|\}|$)[^\n]*\n)*\s*xor\.b32[^\n]*(\n[^\n]*){24}$`), 24,
		"random_words: it is 0 below 2^34 elements, of which no test's device holds the matrix"},
	{"a residual that is not repeated", re(`^matmul`), leftOut, re(`@%p\d+ bra`), re(`setp\.ge\.u32[^\n]*\n(\s*mov\.[^\n]*\n)*\s*@%p\d+ bra[^\n]*\n(//[^\n]*\n)?\s*rem\.u32`), 4,
		"load_residual: of a row below m the remainder is the row, and of others nothing is loaded"},
	{"columns that such rows have", re(` matmul_norm(_back)?_512$`), "or becomes and", re(`or\.b32\s+%r\d+, %r\d+, 128;`), anything, 0,
		"matmul_rows: the kernel is launched for rows of more than 256 columns, of which 0 to 255 are there; the number is asked for nothing else"},
	{"a thread's first row", re(`^attention`), ".ge becomes .gt", re(`setp\.ge\.u32`), re(`^[^\n]*shr\.u32\s+%r\d+, %r\d+, [23];\n\s*setp\.ge\.u32[^\n]*\n[^\n]*$`), 1,
		"copy_rows: it is below the number of rows that the block copies at once, of which there are as many or more"},
	{"a sum that all threads have", re(` gradient_norm$`), leftOut, re(`@%p\d+ bra`), re(`shfl\.sync\.bfly[^\n]*, 1?, ?31[^\n]*|shfl\.sync\.bfly`), 6,
		"folded gives every thread the same, and all would write it to one place"},
	{"a count of rows as a float", re(`^loss `), rounding, re(`cvt\.rn\.f32\.u32`), anything, 0,
		"it is exact below 2^24 rows, of which no test's device holds so many"},
	{"padding read in vain", re(`^loss `), ".lt becomes .le", re(`setp\.lt\.u32`), re(`setp\.lt\.u32[^\n]*\n\s*mul\.wide\.u32[^\n]*\n\s*add\.s64[^\n]*\n\s*and\.pred[^\n]*\n(\s*mov\.f32[^\n]*\n){4}\s*@!?%p\d+ bra`), 10,
		"distances: behind the last column there is another of the gradient, and of the prediction, whose rows are as wide; it does not count"},
}
