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
import { collectVersions, type FoundVersions } from '../quarantine/collect-versions.ts'
import { missingVersions, releasedRow } from '../quarantine/released-row.ts'

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

/** The parts of a rebuild that closing its gaps uses. */
export interface GapDeps {
  readonly store: ProjectionStore
  readonly projection: Projection<Schemas, unknown>
  readonly table: BuildTable
  /** Yields every record of the source that it has not yielded before, up to the ends that it has now. */
  readonly unread: () => AsyncIterable<Pick<WireRecord, 'key' | 'value' | 'headers'>>
}

/** Events of a key that gets some all the time have come since the source was read: it is read on, so many times at most. */
const mostRounds = 50

/**
 * Applies the events of these keys in the order of their versions, wherever they are. A key that lacks one stays as it is.
 *
 * Workers go on meanwhile, so later events of a key may be behind what was read. A version is missing if it was not found
 * twice: it lies before an event that a worker has read, and the source was read to its end after that.
 */
export async function closeGaps(deps: GapDeps, behind: readonly KeyBehind[], signal: AbortSignal): Promise<void> {
  const found = new Map<string, FoundVersions>()
  const lacking = new Map<string, number>()
  let open: ReadonlyMap<string, number> = new Map(behind.map(({ entry, version }) => [entry.key, version]))
  for (let rounds = 1; open.size > 0 && rounds <= mostRounds; rounds++) {
    const more = await collectVersions(deps.projection, open, deps.unread())
    if (signal.aborted) return
    const left = new Map<string, number>()
    for (const [key, version] of open) {
      const events = merged(found.get(key) ?? [], more.get(key) ?? [])
      found.set(key, events)
      const missing = await closeGap(deps, key, events)
      if (missing === undefined || lacking.get(key) === missing) continue
      lacking.set(key, missing)
      left.set(key, version)
    }
    open = left
  }
}

/** Releases a key. Returns the first version that is missing; undefined if none is, or if the key cannot be released. */
function closeGap(
  { store, projection, table }: GapDeps,
  key: string,
  events: FoundVersions,
): Promise<number | undefined> {
  return store.transaction(async (tx) => {
    const builds = await tx.lock(table.projection, 'SHARED')
    // A row before its entry, as writers lock them.
    const [stored = absentRow(key)] = checkRows(projection, await tx.readLocked(table, [key]))
    const entry = await tx.lockQuarantined(table, key)
    const isBuilt = builds.some(({ number, state }) => number === table.number && state === 'VERIFYING')
    if (entry === undefined || !isBuilt) return undefined
    const [missing] = missingVersions(stored.version, entry.last, events)
    const row = missing === undefined ? rowIfFolded(() => releasedRow(projection, stored, entry, events)) : undefined
    if (row !== undefined) await tx.restore(table, row)
    return missing
  })
}

/** Returns undefined if a fold throws: the key stays quarantined, which its caller judges. */
function rowIfFolded(release: () => StoredRow): StoredRow | undefined {
  try {
    return release()
  } catch {
    return undefined
  }
}

function merged(some: FoundVersions, more: FoundVersions): FoundVersions {
  const all = new Map([...some, ...more].map((one) => [one.version, one]))
  return [...all.values()].toSorted((one, other) => one.version - other.version)
}
