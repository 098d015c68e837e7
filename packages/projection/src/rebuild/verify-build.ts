/** Compares the table that was built with the live one, row by row, in the order of the keys and in bounded memory. */

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { BuildTable, ProjectionStore, StoredRow } from '@waybill/core/internal'
import type { RowDifference } from '../definition/row-difference.ts'

/** The result of a comparison. */
export interface Verification {
  /** Rows of the live table that were compared. */
  readonly rows: number
  /** Rows of the new table among the same keys. */
  readonly builtRows: number
  /** Rows whose versions are higher than those of the live table, because it is behind the topics. Not compared. */
  readonly ahead: number
  /** Digests of the compared states: equal if there is no difference, expected or not. */
  readonly checksums: { readonly live: string; readonly built: string }
  /** Differences that were expected. */
  readonly expected: number
  /** The first unexpected differences, at most a hundred. */
  readonly differences: readonly RowDifference[]
}

/** The settings of a comparison. */
export interface VerifySettings {
  /** Rows of the live table to compare, in the order of their keys; ALL compares each of them. */
  readonly rows: number | 'ALL'
  readonly expectDifference: ((key: string, live: unknown, built: unknown) => boolean) | undefined
  /** Keys that may be behind the live table. */
  readonly excused: ReadonlySet<string>
  /**
   * Whether the new revision reads every topic of the live one. Otherwise versions may differ because of it, and
   * `expectDifference` decides about these rows too.
   */
  readonly hasEveryTopic: boolean
  /**
   * Whether versions only count the events of a row. Two rows of one version may then have different ones, of several
   * partitions.
   */
  readonly isByPosition: boolean
}

/** The progress of the two tables, which are written meanwhile. */
export interface TableProgress {
  /** Resolves when the built table includes what the live one does now. */
  builtCatchesUp(): Promise<void>
  /** Returns whether the live table includes what the built one does now; false if it is not so after some seconds. */
  liveCatchesUp(): Promise<boolean>
}

const rowsPerPage = 1_000
const mostDifferences = 100

type Pair = { readonly key: string; readonly live: StoredRow | undefined; readonly built: StoredRow | undefined }

/** Compares two tables of a projection while both are written: rows that may have other events are read again. */
export async function verifyBuild(
  store: ProjectionStore,
  live: BuildTable,
  built: BuildTable,
  settings: VerifySettings,
  progress: TableProgress,
): Promise<Verification> {
  const comparison = new Comparison(live, built, settings)
  for await (const pairs of pairsOf(store, live, built, settings.rows)) {
    for (const pair of pairs) comparison.count(pair)
    const apart = pairs.filter((pair) => comparison.isApart(pair))
    const reread = apart.length === 0 ? new Map<string, Pair>() : await readApart(store, live, built, apart, progress)
    for (const pair of pairs) comparison.judge(reread.get(pair.key) ?? pair)
  }
  return comparison.result()
}

/**
 * Reads rows at different versions again, when the built table includes what the live one does: then the built row is not
 * behind. One that the live table does not have is read again when the live table has caught up: otherwise it is ahead.
 */
async function readApart(
  store: ProjectionStore,
  live: BuildTable,
  built: BuildTable,
  apart: readonly Pair[],
  progress: TableProgress,
): Promise<ReadonlyMap<string, Pair>> {
  const keys = apart.map(({ key }) => key)
  let before = await rowsOf(store, live, keys)
  await progress.builtCatchesUp()
  const after = await rowsOf(store, built, keys)
  const extra = keys.filter((key) => !before.has(key))
  const isPast = extra.length > 0 && (await progress.liveCatchesUp())
  if (extra.length > 0) before = new Map([...before, ...(await rowsOf(store, live, extra))])
  const pairs = keys.map((key): Pair => ({ key, live: before.get(key), built: after.get(key) }))
  // Not past: nothing is known of a row that the live table does not have yet.
  const known = pairs.map((pair) => (pair.live !== undefined || isPast ? pair : { ...pair, live: absentBefore(pair) }))
  return new Map(known.map((pair) => [pair.key, pair]))
}

/** Stands for a row that the live table will have. */
function absentBefore({ key }: Pair): StoredRow {
  return { key, version: 0, state: undefined, isQuarantined: false }
}

async function rowsOf(
  store: ProjectionStore,
  table: BuildTable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, StoredRow>> {
  return new Map((await store.read(table, keys)).map((row) => [row.key, row]))
}

/** Yields the rows of both tables by key, page by page, up to the last key of the live table that is to be compared. */
async function* pairsOf(
  store: ProjectionStore,
  live: BuildTable,
  built: BuildTable,
  most: number | 'ALL',
): AsyncGenerator<readonly Pair[]> {
  let rows = 0
  let afterLive: string | null = null
  let afterBuilt: string | null = null
  for (;;) {
    const limit = most === 'ALL' ? rowsPerPage : Math.min(rowsPerPage, most - rows)
    const page: readonly StoredRow[] = limit === 0 ? [] : await store.scan(live, afterLive, limit)
    const last = page.at(-1)?.key
    rows += page.length
    // Behind the last key of the live table come the rows that only the built one has.
    if (last === undefined && most !== 'ALL' && rows === most) return
    const others: readonly StoredRow[] = await builtUpTo(store, built, afterBuilt, last)
    if (last === undefined && others.length === 0) return
    yield paired(page, others)
    afterLive = last ?? afterLive
    afterBuilt = last ?? others.at(-1)?.key ?? afterBuilt
  }
}

/** Returns the rows of the built table after a key, up to another one; a page of them without one. */
async function builtUpTo(
  store: ProjectionStore,
  table: BuildTable,
  after: string | null,
  last: string | undefined,
): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = []
  for (let from = after; ; ) {
    const page: readonly StoredRow[] = await store.scan(table, from, rowsPerPage, last)
    rows.push(...page)
    if (last === undefined || page.length < rowsPerPage) return rows
    from = page.at(-1)?.key ?? from
  }
}

function paired(live: readonly StoredRow[], built: readonly StoredRow[]): readonly Pair[] {
  const others = new Map(built.map((row) => [row.key, row]))
  const pairs = live.map((row): Pair => ({ key: row.key, live: row, built: others.get(row.key) }))
  const known = new Set(live.map(({ key }) => key))
  return [
    ...pairs,
    ...built.filter(({ key }) => !known.has(key)).map((row): Pair => ({ key: row.key, live: undefined, built: row })),
  ]
}

/** The verdicts on pairs of rows. */
class Comparison {
  readonly #digests = { live: createHash('sha256'), built: createHash('sha256') }
  /** The columns that both revisions have. */
  readonly #columns: readonly string[]
  readonly #settings: VerifySettings
  readonly #differences: RowDifference[] = []
  #rows = 0
  #builtRows = 0
  #ahead = 0
  #expected = 0

  constructor(live: BuildTable, built: BuildTable, settings: VerifySettings) {
    this.#columns = Object.keys(live.columns).filter((name) => built.columns[name]?.type === live.columns[name]?.type)
    this.#settings = settings
  }

  count({ live, built }: Pair): void {
    if (live !== undefined) this.#rows++
    if (built !== undefined) this.#builtRows++
  }

  /** Returns whether the rows may differ only because one of the tables is further on. */
  isApart({ live, built }: Pair): boolean {
    if ((live?.version ?? 0) !== (built?.version ?? 0)) return true
    return this.#settings.isByPosition && !isDeepStrictEqual(this.#stateOf(live), this.#stateOf(built))
  }

  judge(pair: Pair): void {
    const { key, live, built } = pair
    // The built row may be ahead: it is read after the live one.
    if (live !== undefined && built !== undefined && built.version > live.version) {
      this.#ahead++
      return
    }
    const states = [this.#stateOf(live), this.#stateOf(built)] as const
    this.#digests.live.update(JSON.stringify([key, states[0]], withBigints))
    this.#digests.built.update(JSON.stringify([key, states[1]], withBigints))
    const isSameVersion = (live?.version ?? 0) === (built?.version ?? 0)
    if (isSameVersion && isDeepStrictEqual(states[0], states[1])) return
    const { excused, expectDifference, hasEveryTopic } = this.#settings
    const isExpected = (isSameVersion || !hasEveryTopic) && expectDifference?.(key, live?.state, built?.state) === true
    if (isExpected || excused.has(key)) this.#expected++
    else if (this.#differences.length < mostDifferences) this.#differences.push(pair)
  }

  result(): Verification {
    return {
      rows: this.#rows,
      builtRows: this.#builtRows,
      ahead: this.#ahead,
      checksums: { live: this.#digests.live.digest('hex'), built: this.#digests.built.digest('hex') },
      expected: this.#expected,
      differences: this.#differences,
    }
  }

  #stateOf(row: StoredRow | undefined): unknown {
    return row?.state === undefined ? null : this.#columns.map((name) => row.state?.[name])
  }
}

function withBigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
