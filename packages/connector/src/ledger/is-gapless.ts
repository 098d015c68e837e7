/**
 * Returns whether the offsets are consecutive. They are sorted and unique, so comparing the first and last suffices:
 * bigint arithmetic on every record of a batch would cost more than dispatching it.
 */
export function isGapless(ordered: readonly { readonly offset: bigint }[]): boolean {
  const [first, last] = [ordered[0], ordered[ordered.length - 1]]
  return first !== undefined && last !== undefined && last.offset - first.offset === BigInt(ordered.length - 1)
}
