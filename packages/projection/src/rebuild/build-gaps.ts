/**
 * Keys of a build that an event is missing of, or whose fold throws, compared with the live table:
 *
 *     the live row has no higher version ─▶ nothing to do: the same event is missing there
 *     it has a higher one ─▶ look for the events in all of the source: after a release, the missing one comes behind later ones
 *                               ├─ found ─▶ applied in the order of their versions
 *                               └─ not found ─▶ the build is behind the live table
 */

import type { Schemas, WireRecord } from '@waybill/core'
import type {
  BuildTable,
  ProjectionBuild,
  ProjectionStore,
  ProjectionTransaction,
  QuarantinedKey,
  StoredRow,
} from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { checkRows } from '../fold/check-state.ts'
import { absentRow } from '../fold/fold-batch.ts'
import { collectVersions } from '../quarantine/collect-versions.ts'
import { releasedRow } from '../quarantine/released-row.ts'

/** Reads rows and quarantined keys, in a transaction or without one. */
export interface GapReader {
  read(table: BuildTable, keys: readonly string[]): Promise<readonly StoredRow[]>
  quarantined(
    build: Pick<ProjectionBuild, 'projection' | 'number'>,
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly QuarantinedKey[]>
}

/** A quarantined key whose live row has a higher version. */
export interface KeyBehind {
  readonly entry: QuarantinedKey
  /** The version of the built row. */
  readonly version: number
  /** The version of the live row; undefined if there is no live table. */
  readonly live: number | undefined
}

const keysPerPage = 1_000
/** More are not listed: by then the source is incomplete. */
const mostListed = 10_000

/** Returns the reader of a transaction. */
export function gapsWithin(tx: ProjectionTransaction): GapReader {
  return {
    read: (table, keys) => tx.readLocked(table, keys),
    quarantined: (build, page) => tx.quarantined(build, page),
  }
}

/** Returns quarantined keys whose live rows have higher versions; without a live table, every quarantined key. */
export async function keysBehind(
  reader: GapReader,
  live: BuildTable | undefined,
  built: BuildTable,
): Promise<readonly KeyBehind[]> {
  const behind: KeyBehind[] = []
  for (let after: string | null = null; behind.length < mostListed; ) {
    const page: readonly QuarantinedKey[] = await reader.quarantined(built, { after, limit: keysPerPage })
    if (page.length === 0) break
    after = page.at(-1)?.key ?? null
    const keys = page.map(({ key }) => key)
    const own = await versionsOf(reader, built, keys)
    const theirs = live === undefined ? undefined : await versionsOf(reader, live, keys)
    for (const entry of page) {
      const version = own.get(entry.key) ?? 0
      const other = theirs === undefined ? undefined : (theirs.get(entry.key) ?? 0)
      if (other === undefined || other > version) behind.push({ entry, version, live: other })
    }
  }
  return behind
}

async function versionsOf(
  reader: GapReader,
  table: BuildTable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  return new Map((await reader.read(table, keys)).map(({ key, version }) => [key, version]))
}

/** Applies the events of these keys in the order of their versions, wherever they are. A key that lacks one stays as it is. */
export async function closeGaps(
  store: ProjectionStore,
  projection: Projection<Schemas, unknown>,
  table: BuildTable,
  behind: readonly KeyBehind[],
  records: AsyncIterable<Pick<WireRecord, 'key' | 'value' | 'headers'>>,
): Promise<void> {
  const versions = new Map(behind.map(({ entry, version }) => [entry.key, version]))
  const found = await collectVersions(projection, versions, records)
  for (const [key, events] of found)
    await store.transaction(async (tx) => {
      const builds = await tx.lock(table.projection, 'SHARED')
      // A row before its entry, as writers lock them.
      const [stored = absentRow(key)] = checkRows(projection, await tx.readLocked(table, [key]))
      const entry = await tx.lockQuarantined(table, key)
      const isBuilt = builds.some(({ number, state }) => number === table.number && state === 'VERIFYING')
      if (entry === undefined || !isBuilt) return
      const row = rowIfWhole(() => releasedRow(projection, stored, entry, events))
      if (row !== undefined) await tx.restore(table, row)
    })
}

/** Returns undefined if a version is missing or a fold throws: the key stays quarantined, which its caller judges. */
function rowIfWhole(release: () => StoredRow): StoredRow | undefined {
  try {
    return release()
  } catch {
    return undefined
  }
}
