/** Half of a character beyond the first 65,536: only there the order of UTF-16 differs from that of databases. */
const surrogate = /[\ud800-\udfff]/

/** Compares keys by their code points. MySQL alone differs: it sorts control characters before the end of a key. */
export function compareKeys(one: string, other: string): number {
  if (one === other) return 0
  if (surrogate.test(one) || surrogate.test(other)) return Buffer.compare(Buffer.from(one), Buffer.from(other))
  return one < other ? -1 : 1
}
