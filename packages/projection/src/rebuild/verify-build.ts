/** Compares the table that was built with the live one, row by row, in the order of the keys and in bounded memory. */

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { BuildTable, ProjectionStore, StoredRow } from '@waybill/core/internal'

/** A row that the two tables do not have in common. */
export interface RowDifference {
  readonly key: string
  readonly live: StoredRow | undefined
  readonly built: StoredRow | undefined
}

/** The result of a comparison. */
export interface Verification {
  /** Rows of the live table that were compared. */
  readonly rows: number
  /** Digests of the compared states: equal if there is no difference, expected or not. */
  readonly checksums: { readonly live: string; readonly built: string }
  /** Differences that were expected. */
  readonly expected: number
  /** The first unexpected differences, at most a hundred. */
  readonly differences: readonly RowDifference[]
}

/** The settings of a comparison. */
export interface VerifySettings {
  /** Rows to compare, spread over the table by their order; ALL compares each of them. */
  readonly rows: number | 'ALL'
  readonly expectDifference: ((key: string, live: unknown, built: unknown) => boolean) | undefined
}

const rowsPerPage = 1_000
const mostDifferences = 100

/**
 * Compares two tables of a projection while both are written: rows at different versions are compared again by
 * `catchUp`, after which the built row must not be behind.
 */
export async function verifyBuild(
  store: ProjectionStore,
  live: BuildTable,
  built: BuildTable,
  { rows: most, expectDifference }: VerifySettings,
  catchUp: () => Promise<void>,
): Promise<Verification> {
  const digests = { live: createHash('sha256'), built: createHash('sha256') }
  const columns = Object.keys(live.columns).filter((name) => built.columns[name]?.type === live.columns[name]?.type)
  const differences: RowDifference[] = []
  let [rows, expected] = [0, 0]
  for (let after: string | null = null; most === 'ALL' || rows < most; ) {
    const page = await store.scan(live, after, most === 'ALL' ? rowsPerPage : Math.min(rowsPerPage, most - rows))
    if (page.length === 0) break
    after = page.at(-1)?.key ?? null
    rows += page.length
    for (const one of await compared(page)) judge(one)
  }
  return {
    rows,
    checksums: { live: digests.live.digest('hex'), built: digests.built.digest('hex') },
    expected,
    differences,
  }

  /** Pairs the rows of a page. Rows at different versions are read again once the build has caught up. */
  async function compared(page: readonly StoredRow[]): Promise<RowDifference[]> {
    const other = await readAll(built, page)
    const pairs = page.map((row) => ({ key: row.key, live: row, built: other.get(row.key) }))
    const apart = pairs.filter((pair) => pair.live.version !== pair.built?.version).map(({ live: row }) => row)
    if (apart.length === 0) return pairs
    const liveNow = await readAll(live, apart)
    await catchUp()
    const builtNow = await readAll(built, apart)
    return pairs.map((pair) =>
      apart.includes(pair.live) ? { key: pair.key, live: liveNow.get(pair.key), built: builtNow.get(pair.key) } : pair,
    )
  }

  async function readAll(table: BuildTable, page: readonly StoredRow[]): Promise<ReadonlyMap<string, StoredRow>> {
    const found = await store.read(
      table,
      page.map(({ key }) => key),
    )
    return new Map(found.map((row) => [row.key, row]))
  }

  function judge(pair: RowDifference): void {
    const { key, live: one, built: other } = pair
    // The built row may be ahead: it is read after the live one.
    if (one !== undefined && other !== undefined && other.version > one.version) return
    const states = [stateOf(one), stateOf(other)] as const
    digests.live.update(JSON.stringify([key, states[0]], withBigints))
    digests.built.update(JSON.stringify([key, states[1]], withBigints))
    if (one?.version === other?.version && isDeepStrictEqual(states[0], states[1])) return
    if (one?.version === other?.version && expectDifference?.(key, one?.state, other?.state) === true) expected++
    else if (differences.length < mostDifferences) differences.push(pair)
  }

  /** The columns that both revisions have. */
  function stateOf(row: StoredRow | undefined): unknown {
    return row?.state === undefined ? null : columns.map((name) => row.state?.[name])
  }
}

function withBigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
