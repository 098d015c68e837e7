/**
 * Decides whether a build that has caught up may become READY:
 *
 *     the build is at the ends that the topics had ─▶ gaps closed ─▶ rows compared ─▶ READY
 *                                                        │              └─ unexpected difference ─▶ FAILED
 *                                                        └─ keys behind the live table ─▶ FAILED
 *
 * It writes nothing but rows whose gaps are closed, so it may be repeated after a crash, and by several processes at once.
 */

import type { Runtime, Schemas, WireRecord } from '@waybill/core'
import type { BuildPosition, BuildTable, ProjectionBuild, ProjectionStore } from '@waybill/core/internal'
import type { Projection } from '../definition/projection.ts'
import { RebuildFailedError } from '../definition/projection-errors.ts'
import type { RowDifference } from '../definition/row-difference.ts'
import { topicsOf } from '../definition/topics-of.ts'
import { type KnownBuild, liveOf } from '../projector/live-build.ts'
import { GapSearch, type KeyBehind, keysBehind, keysLost } from './build-gaps.ts'
import type { ResolvedRebuildOptions } from './rebuild-options.ts'
import {
  left,
  positionsRead,
  type RebuildSource,
  type SourcePartition,
  samePartition,
  withinLog,
} from './rebuild-source.ts'
import { type Verification, verifyBuild } from './verify-build.ts'

/** The parts of a rebuild that its verification uses. */
export interface VerificationDeps {
  readonly store: ProjectionStore
  readonly projection: Projection<Schemas, unknown>
  readonly table: BuildTable
  readonly source: RebuildSource
  readonly runtime: Runtime
  readonly options: Pick<ResolvedRebuildOptions, 'verify' | 'expectDifference' | 'maxQuarantined' | 'history'>
  /** Returns the projection of the live build, and its table with its own columns. */
  readonly knownOf: (live: ProjectionBuild) => KnownBuild
}

const pollMs = 50
/** A live table that is not there by then is behind the topics. */
const mostLivePolls = 100
const recordsPerRead = 2_000
/** A key that gets events all the time may need a few. */
const mostGapRounds = 50

/**
 * Verifies a build. Returns undefined if the signal aborted first, or the build is no longer verified.
 *
 * @throws RebuildFailedError
 */
export async function verificationStep(
  deps: VerificationDeps,
  signal: AbortSignal,
): Promise<Verification | 'NOTHING_TO_COMPARE' | undefined> {
  try {
    return await verify(deps, signal)
  } catch (error) {
    // The rows may be gone: another process may have cancelled the rebuild and dropped its table meanwhile.
    if (error instanceof RebuildFailedError && !(await isVerified(deps))) return undefined
    throw error
  }
}

async function verify(
  deps: VerificationDeps,
  signal: AbortSignal,
): Promise<Verification | 'NOTHING_TO_COMPARE' | undefined> {
  const { store, table, source, options } = deps
  const ends = (await source.partitions()).map(({ topic, partition, end }) => ({ topic, partition, next: end }))
  if (!(await reach(deps, ends, signal))) return undefined
  const live = liveOf(await store.builds(table.projection))
  const behind = await withGapsClosed(deps, live, signal)
  if (signal.aborted) return undefined
  if (behind.length > options.maxQuarantined) throw tooManyBehind(behind)
  if (live === undefined || options.verify === 0) return 'NOTHING_TO_COMPARE'
  const result = await compare(deps, live, behind, signal)
  if (result === 'OVER') return undefined
  const [first] = result.differences
  if (first === undefined) return result
  // Its key was released in the live table since: the gap is closed first, and all is compared again.
  if (result.differences.some(isNewGap)) return undefined
  const found = `${result.differences.length === 100 ? 'at least 100' : result.differences.length} rows differ`
  throw new RebuildFailedError(
    `Projection ${table.projection}: ${found} from the live table, the first is ${JSON.stringify(first.key)}`,
    {
      differences: result.differences,
      impact: 'The live table was not touched.',
      hint: 'Compare the rows in `differences`. If a difference is intended, name it in expectDifference and start again.',
    },
  )
}

function isNewGap({ live, built }: RowDifference): boolean {
  return built?.isQuarantined === true && (live?.version ?? 0) > built.version
}

/** Closes gaps until no key is behind the live table but those whose events the source lacks. */
async function withGapsClosed(
  { store, projection, table, source, options: { history, maxQuarantined }, knownOf }: VerificationDeps,
  live: ProjectionBuild | undefined,
  signal: AbortSignal,
): Promise<readonly KeyBehind[]> {
  const liveTable = live && knownOf(live).table
  let behind = await keysBehind(store, liveTable, table)
  let search: GapSearch | undefined
  for (let rounds = 1; behind.length > 0 && rounds <= mostGapRounds && !signal.aborted; rounds++) {
    if (search?.includes(behind) !== true)
      search = new GapSearch({ store, projection, table, unread: unreadRecords(source, history, signal) }, behind)
    await search.close(signal)
    const now = await keysBehind(store, liveTable, table)
    const lost = keysLost(now, behind)
    if (lost.length === now.length || lost.length > maxQuarantined) return lost
    // Others have come since, or the live table has moved on.
    behind = now
  }
  return behind
}

/** Returns a function that yields every record that the build was made of, and at each further call those since then. */
function unreadRecords(
  source: RebuildSource,
  history: ResolvedRebuildOptions['history'],
  signal: AbortSignal,
): () => AsyncGenerator<WireRecord> {
  let before: readonly SourcePartition[] | undefined
  return async function* () {
    if (history !== undefined && before === undefined)
      for await (const event of history(0n)) {
        if (signal.aborted) return
        yield event
      }
    const partitions = await source.partitions()
    for (const one of partitions) {
      const from = before?.find((known) => samePartition(known, one))?.end ?? one.start
      await using reader = source.open(one, from, one.end)
      for (;;) {
        const records = signal.aborted ? undefined : await reader.next(recordsPerRead)
        if (records === undefined) break
        yield* records
      }
    }
    before = partitions
  }
}

function tooManyBehind(behind: readonly KeyBehind[]): RebuildFailedError {
  const [first] = behind
  const { key, expected, found, reason } = first?.entry ?? { key: '', expected: 0, found: 0, reason: 'GAP' }
  const there = first?.live === undefined ? 'there is no live row' : `the live row has version ${first.live}`
  return new RebuildFailedError(
    `${behind.length} keys cannot be rebuilt: ${JSON.stringify(key)} needs version ${expected}, found ${found} (${reason}), ` +
      `and ${there}`,
    {
      impact: 'The live table was not touched.',
      hint: 'Give the rebuild a source that has every event, correct the fold, or raise maxQuarantined.',
    },
  )
}

/** OVER: workers stopped, or another process was faster: nothing is known of the rows that were behind. */
async function compare(
  deps: VerificationDeps,
  live: ProjectionBuild,
  behind: readonly KeyBehind[],
  signal: AbortSignal,
): Promise<Verification | 'OVER'> {
  const { store, projection, table, source, knownOf, options } = deps
  const known = knownOf(live)
  let isLiveStalled = false
  let isOver = false
  const settings = {
    rows: options.verify,
    expectDifference: options.expectDifference,
    excused: new Set(behind.map(({ entry }) => entry.key)),
    hasEveryTopic: isSubset(topicsOf(known.projection), topicsOf(projection)),
    isByPosition: projection.versions === 'POSITION',
  }
  const result = await verifyBuild(store, known.table, table, settings, {
    async builtCatchesUp() {
      const wanted = positionsRead(projection, await store.positions(live))
      if (!(await reach(deps, withinLog(wanted, await source.partitions()), signal))) isOver = true
    },
    async liveCatchesUp() {
      const wanted = positionsRead(projection, await store.positions(table))
      // A live table that is far behind would cost the time for each page.
      for (let polls = 0; polls < mostLivePolls && !isLiveStalled && !signal.aborted; polls++) {
        if (isAt(await store.positions(live), wanted)) return true
        await deps.runtime.timers.sleep(pollMs)
      }
      isLiveStalled = true
      return false
    },
  })
  return isOver || signal.aborted ? 'OVER' : result
}

/** Waits until the build is at these positions. Returns false if it stopped being verified before. */
async function reach(deps: VerificationDeps, wanted: readonly BuildPosition[], signal: AbortSignal): Promise<boolean> {
  const { store, table, runtime } = deps
  while (!signal.aborted) {
    if (isAt(await store.positions(table), wanted)) return true
    if (!(await isVerified(deps))) return false
    await runtime.timers.sleep(pollMs)
  }
  return false
}

async function isVerified({ store, table }: Pick<VerificationDeps, 'store' | 'table'>): Promise<boolean> {
  const builds = await store.builds(table.projection)
  return builds.some(({ number, state }) => number === table.number && state === 'VERIFYING')
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((one) => all.has(one))
}

function isAt(positions: readonly BuildPosition[], wanted: readonly BuildPosition[]): boolean {
  return wanted.every((one) => left({ ...one, start: 0n, end: one.next }, positions) === 0n)
}
