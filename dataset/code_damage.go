package dataset

// Codes of ClassDamage: broken bytes that a reader passed over. Count is the number of broken parts, Bytes their size in the file, Cause the first error.
const ()

var damageCodes = []Code{}
