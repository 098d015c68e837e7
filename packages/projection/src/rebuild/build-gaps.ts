/**
 * Keys of a build that an event is missing of, or whose fold throws, compared with the live table:
 *
 *     the live row has no higher version ─▶ nothing to do: the same event is missing there
 *     it has a higher one ─▶ look for the events in all of the source: after a release, the missing one comes behind later ones
 *                               ├─ found ─▶ applied in the order of their versions, up to the next gap
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

/** Looks for the events of some keys in all of the source, and applies those that it finds in the order of their versions. */
export class GapSearch {
  readonly #deps: GapDeps
  /** The versions that their rows had. */
  readonly #versions: ReadonlyMap<string, number>
  readonly #found = new Map<string, FoundVersions>()

  constructor(deps: GapDeps, behind: readonly KeyBehind[]) {
    this.#deps = deps
    this.#versions = new Map(behind.map(({ entry, version }) => [entry.key, version]))
  }

  /** Returns whether the search was for all of these keys. */
  includes(behind: readonly KeyBehind[]): boolean {
    return behind.every(({ entry }) => this.#versions.has(entry.key))
  }

  /**
   * Reads the source, at a further call what has come since, and applies the events of each key up to the first one that is
   * missing. Workers go on meanwhile: of a key that gets events all the time, the last ones may not have been read yet.
   */
  async close(signal: AbortSignal): Promise<void> {
    const more = await collectVersions(this.#deps.projection, this.#versions, this.#deps.unread())
    for (const key of this.#versions.keys()) {
      if (signal.aborted) return
      const events = merged(this.#found.get(key) ?? [], more.get(key) ?? [])
      this.#found.set(key, events)
      await closeGap(this.#deps, key, events)
    }
  }
}

/**
 * Returns keys that were behind before a search, and still are: the source lacks an event that the live table has.
 *
 * @param before - the keys that were behind before it; what their live rows had was in the source by then
 */
export function keysLost(behind: readonly KeyBehind[], before: readonly KeyBehind[]): readonly KeyBehind[] {
  const known = new Map(before.map((one) => [one.entry.key, one]))
  return behind.filter(({ entry, version }) => {
    const was = known.get(entry.key)
    return was !== undefined && (was.live === undefined ? version === was.version : version < was.live)
  })
}

/**
 * Applies the events of a key up to the first version that is missing, and releases it if none is: the live table may have
 * the same gap behind the one that is closed here.
 */
async function closeGap({ store, projection, table }: GapDeps, key: string, events: FoundVersions): Promise<void> {
  await store.transaction(async (tx) => {
    const builds = await tx.lock(table.projection, 'SHARED')
    // A row before its entry, as writers lock them.
    const [stored = absentRow(key)] = checkRows(projection, await tx.readLocked(table, [key]))
    const entry = await tx.lockQuarantined(table, key)
    const isBuilt = builds.some(({ number, state }) => number === table.number && state === 'VERIFYING')
    if (entry === undefined || !isBuilt) return
    const [missing] = missingVersions(stored.version, entry.last, events)
    const known = missing === undefined ? events : events.filter(({ version }) => version < missing)
    const row = rowIfFolded(() => releasedRow(projection, stored, { key, last: 0 }, known))
    if (row === undefined) return
    await tx.restore(table, row)
    if (missing === undefined) return
    const found = events.find(({ version }) => version > missing)?.version ?? entry.last
    await tx.quarantine(table, { key, reason: 'GAP', expected: missing, found })
    await tx.extendQuarantine(table, key, entry.last)
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
