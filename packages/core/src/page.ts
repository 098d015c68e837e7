/** A part of a list. Continue with `next` as the cursor. */
export interface Page<T> {
  readonly items: readonly T[]
  /** The cursor of the next page; null at the end. */
  readonly next: string | null
  /** The number of items of the whole list; absent if it was not counted. */
  readonly total?: PageTotal
}

/** The length of a list. */
export interface PageTotal {
  readonly count: bigint
  /** False if counting stopped at a bound: there are at least `count`. */
  readonly isExact: boolean
}

/** The part of a list to read. */
export interface PageQuery {
  readonly limit: number
  /** `next` of a page of the same list. @defaultValue the first page */
  readonly cursor?: string | undefined
}
