const seed = 0x9747b28c
const multiplier = 0x5bd1e995

/**
 * The 32-bit murmur2 hash of Kafka's Java client, as a signed integer as there. Which partition a key lands
 * in rests on it, so every producer in every language has to agree on each bit.
 */
export function murmur2(data: Uint8Array): number {
  const length = data.length
  const wholeWords = length & ~3
  let hash = seed ^ length
  for (let index = 0; index < wholeWords; index += 4) {
    // Read byte by byte: a DataView would cost an object per key, and a key seldom starts at a multiple of four.
    let word =
      (data[index] as number) |
      ((data[index + 1] as number) << 8) |
      ((data[index + 2] as number) << 16) |
      ((data[index + 3] as number) << 24)
    word = Math.imul(word, multiplier)
    word ^= word >>> 24
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier)
  }
  const rest = length - wholeWords
  if (rest > 2) hash ^= (data[wholeWords + 2] as number) << 16
  if (rest > 1) hash ^= (data[wholeWords + 1] as number) << 8
  if (rest > 0) hash = Math.imul(hash ^ (data[wholeWords] as number), multiplier)
  hash = Math.imul(hash ^ (hash >>> 13), multiplier)
  return hash ^ (hash >>> 15)
}
