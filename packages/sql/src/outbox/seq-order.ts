/** Compares sequence numbers; results of changes come in any order. */
export function byValue(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0
}

export function bySeq(one: { readonly seq: bigint }, other: { readonly seq: bigint }): number {
  return byValue(one.seq, other.seq)
}
