/**
 * Whether these follow each other without a hole. They are in the order of their offsets and none is there twice, so the
 * ends tell: offsets are large integers, and asking each of a batch for its own costs more than handing it out.
 */
export function isGapless(ordered: readonly { readonly offset: bigint }[]): boolean {
  const [first, last] = [ordered[0], ordered[ordered.length - 1]]
  return first !== undefined && last !== undefined && last.offset - first.offset === BigInt(ordered.length - 1)
}
