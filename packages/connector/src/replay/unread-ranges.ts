import { type OffsetRange, partitionName } from '@waybill/kafka/internal'

/** Ranges of one partition that are this close are read together: a reader costs more than the records between them. */
const nearOffsets = 1_000n

/** The ranges of a selection that are not read yet. Pure. */
export class UnreadRanges {
  /** Sorted, disjoint, by partition name. */
  readonly #ranges = new Map<string, OffsetRange[]>()

  constructor(ranges: readonly OffsetRange[]) {
    const sorted = ranges
      .filter(({ from, until }) => from < until)
      .toSorted((one, other) => (one.from < other.from ? -1 : one.from > other.from ? 1 : 0))
    for (const range of sorted) {
      const of = this.#of(range)
      const last = of.at(-1)
      if (last === undefined || last.until < range.from) of.push(range)
      else if (last.until < range.until) of[of.length - 1] = { ...last, until: range.until }
    }
  }

  /** Returns whether an offset is still unread. */
  has(at: { readonly topic: string; readonly partition: number; readonly offset: bigint }): boolean {
    return this.#of(at).some(({ from, until }) => from <= at.offset && at.offset < until)
  }

  /** Marks everything below an offset of a partition as read. */
  passed(partition: { readonly topic: string; readonly partition: number }, before: bigint): void {
    const left = this.#of(partition).flatMap((range) => {
      if (range.until <= before) return []
      return [range.from < before ? { ...range, from: before } : range]
    })
    this.#ranges.set(partitionName(partition), left)
  }

  list(): readonly OffsetRange[] {
    return [...this.#ranges.values()].flat()
  }

  /** Returns what to read next, at most one range for each partition. It may hold offsets that are not selected. */
  nextToRead(): readonly OffsetRange[] {
    return [...this.#ranges.values()].flatMap((ranges) => {
      const [first, ...others] = ranges
      if (first === undefined) return []
      let { until } = first
      for (const other of others) {
        if (other.from - until > nearOffsets) break
        ;({ until } = other)
      }
      return [{ ...first, until }]
    })
  }

  #of(partition: { readonly topic: string; readonly partition: number }): OffsetRange[] {
    const name = partitionName(partition)
    const known = this.#ranges.get(name)
    if (known !== undefined) return known
    const none: OffsetRange[] = []
    this.#ranges.set(name, none)
    return none
  }
}

/** Returns the ranges of single positions. */
export function rangesOf(
  positions: readonly { readonly topic: string; readonly partition: number; readonly offset: bigint }[],
): readonly OffsetRange[] {
  const single = positions.map(({ topic, partition, offset }) => ({
    topic,
    partition,
    from: offset,
    until: offset + 1n,
  }))
  return new UnreadRanges(single).list()
}
