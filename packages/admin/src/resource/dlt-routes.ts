import type { DeadLetterStats, ReplayReport } from '@waybill/connector'
import type { DeadLetterPlace, PurgeReport, ReplaySelection } from '@waybill/connector/internal'
import { OptionsError } from '@waybill/core'
import { instantOf } from '../json/write-json.ts'
import type { Answer, Call } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema, withDefault } from '../schema/schema.ts'
import { age, boolean, instant, int64, integer, oneOf } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { type FoundBinding, findBinding } from '../service/find-binding.ts'
import type { TrackedRun } from '../service/tracked-runs.ts'
import { words } from './answer-schemas.ts'
import { checkState, labelOf } from './command-routes.ts'
import { preferredWaitMs } from './prefer-wait.ts'

const count = integer({ min: 1, max: 1_000_000 })
const selection = {
  count: optional(about('The next ones after the position of replays.', count)),
  from: optional(about('The beginning of a window: when they were written.', instant)),
  to: optional(about('The end of the window, excluded.', instant)),
}

const runFields = { operation: words, state: optional(words), complete: optional(boolean), dryRun: optional(boolean) }

const replayAnswer: Schema = named(
  'ReplayReport',
  object({
    ...runFields,
    operation: nullable(words),
    replayed: optional(integer()),
    skipped: optional(mapOf(integer())),
    remaining: optional(int64),
    available: optional(int64),
  }),
)

const placeSchema: Schema = named(
  'DeadLetterPlace',
  object({
    id: words,
    deadAt: nullable(instant),
    originalTopic: words,
    originalPartition: integer({ min: -1 }),
    originalOffset: words,
    lastExceptionClass: words,
  }),
)

const statsAnswer: Schema = named(
  'DeadLetterStats',
  object({
    topics: list(words),
    count: integer(),
    others: integer(),
    notReplayed: nullable(int64),
    oldest: nullable(placeSchema),
    newest: nullable(placeSchema),
    byException: mapOf(integer()),
    complete: boolean,
  }),
)

const purgeAnswer: Schema = named(
  'PurgeReport',
  object({
    ...runFields,
    operation: nullable(words),
    purged: optional(int64),
    notReplayed: optional(int64),
    byGroup: optional(list(object({ consumerGroup: nullable(words), count: integer() }))),
  }),
)

/** Routes of the dead letter topics of a binding. */
export function dltRoutes(services: AdminServices): readonly Route[] {
  const { connector } = services
  const tag = 'Dead letter topics'
  const statistics = new DeadLetterStatistics(services)
  return [
    route({
      id: 'replayDlt',
      method: 'POST',
      path: '/eventbus/bindings/{name}/dlt/replay',
      tag,
      summary: 'Replays the next dead letters, or those written in a window',
      access: { permission: 'dlt:replay', of: 'SUBJECT' },
      query: { ...selection, target: optional(oneOf(['ORIGINAL', 'BINDING'])) },
      change: { operation: 'REPLAY', isDestructive: false },
      answer: replayAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:replay')
        const { target, ...given } = call.query
        const which = selectionOf(given)
        if (call.isDryRun) return plannedReplay(statistics, found)
        const options = { ...which, ...(target === undefined ? {} : { target }) }
        return tracked(services, call, found, 'REPLAY', options, (onProgress) =>
          found.connector.admin.replayDlt(labelOf(found), { ...options, onProgress }, call.operator),
        )
      },
    }),
    route({
      id: 'replayToTier',
      method: 'POST',
      path: '/eventbus/bindings/{name}/dlt/replay-to-tier',
      tag,
      summary: 'Copies dead letters to a retry tier',
      access: { permission: 'dlt:replay', of: 'SUBJECT' },
      query: { tier: about('Counted from 1.', integer({ min: 1, max: 100 })), ...selection },
      change: { operation: 'REPLAY_TO_TIER', isDestructive: false },
      answer: replayAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:replay')
        const { tier, ...given } = call.query
        const which = selectionOf(given)
        if (call.isDryRun) return plannedReplay(statistics, found)
        return tracked(services, call, found, 'REPLAY_TO_TIER', { tier, ...which }, (onProgress) =>
          found.connector.admin.replayToTier(labelOf(found), tier, { ...which, onProgress }, call.operator),
        )
      },
    }),
    route({
      id: 'releaseDlt',
      method: 'POST',
      path: '/eventbus/bindings/{name}/dlt/release',
      tag,
      summary: 'Lets keys continue without their dead letters',
      access: { permission: 'dlt:release', of: 'SUBJECT' },
      query: selection,
      change: { operation: 'RELEASE', isDestructive: true },
      answer: replayAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:release')
        const which = selectionOf(call.query)
        if (call.isDryRun) return plannedReplay(statistics, found)
        return tracked(services, call, found, 'RELEASE', which, (onProgress) =>
          found.connector.admin.releaseDlt(labelOf(found), { ...which, onProgress }, call.operator),
        )
      },
    }),
    route({
      id: 'getDltStats',
      method: 'GET',
      path: '/eventbus/bindings/{name}/dlt/stats',
      tag,
      summary: 'Counts the dead letters of a binding',
      access: { permission: 'dlt:read', of: 'SUBJECT' },
      answer: statsAnswer,
      async run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:read')
        const isFresh = (call.request.headers['cache-control'] ?? '').includes('no-cache')
        return statistics.answer(found, call, isFresh)
      },
    }),
    route({
      id: 'purgeDlt',
      method: 'DELETE',
      path: '/eventbus/bindings/{name}/dlt',
      tag,
      summary: 'Deletes dead letters older than an age',
      access: { permission: 'dlt:purge', of: 'SUBJECT' },
      query: {
        olderThan: about('An age such as P7D: bare digits could be an instant.', age),
        includeOtherGroups: withDefault(about('Deletes dead letters of other groups, too.', boolean), false),
      },
      change: { operation: 'PURGE', isDestructive: true },
      answer: purgeAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:purge')
        const { olderThan, includeOtherGroups } = call.query
        const label = labelOf(found)
        const purge = (dryRun: boolean): Promise<PurgeReport> =>
          found.connector.admin.purgeDlt(label, olderThan, call.operator, { includeOtherGroups, dryRun })
        if (call.isDryRun)
          return purge(true).then((report) => ({ body: { dryRun: true, operation: null, ...purgeView(report) } }))
        return tracked(services, call, found, 'PURGE', { olderThanMs: olderThan, includeOtherGroups }, () =>
          purge(false),
        )
      },
    }),
  ]
}

/** @throws OptionsError unless it is a count or a window */
function selectionOf(given: {
  readonly count: number | undefined
  readonly from: number | undefined
  readonly to: number | undefined
}): ReplaySelection {
  const { count: most, from, to } = given
  if (from === undefined && to === undefined) {
    if (most === undefined) throw wrong('count', 'is required without from and to')
    return { count: most }
  }
  if (from === undefined) throw wrong('from', 'is required with to')
  if (to === undefined) throw wrong('to', 'is required with from')
  if (from >= to) throw wrong('to', 'must be later than from')
  return { from, to, ...(most === undefined ? {} : { count: most }) }
}

function wrong(path: string, problem: string): OptionsError {
  return new OptionsError('The query', [{ path, problem }])
}

async function plannedReplay(statistics: DeadLetterStatistics, found: FoundBinding): Promise<Answer> {
  checkState(found, 'destroy')
  const { notReplayed } = await statistics.read(found, false)
  return { body: { dryRun: true, operation: null, available: notReplayed } }
}

/** Runs a change to its end, and answers with its report, or with where to find it if that takes longer than the client waits. */
async function tracked(
  { runs, options: { runtime } }: AdminServices,
  call: Call,
  { key }: FoundBinding,
  type: TrackedRun['type'],
  request: unknown,
  work: (onProgress: (progress: unknown) => void) => Promise<ReplayReport | PurgeReport>,
): Promise<Answer> {
  const { by, reason } = call.operator
  const { run, done } = runs.start({ type, binding: key, by, reason, request }, work)
  const isDone = await within(done, preferredWaitMs(call.request.headers['prefer']), runtime)
  const location = `/eventbus/operations/${run.id}`
  if (!isDone) return { status: 202, headers: { location }, body: { operation: run.id, state: 'RUNNING' } }
  if (run.state === 'FAILED') throw run.error
  const result = run.result as ReplayReport | PurgeReport
  const view = 'purged' in result ? purgeView(result) : replayView(result)
  return { headers: { location }, body: { operation: run.id, ...view } }
}

async function within(
  done: Promise<unknown>,
  ms: number,
  { timers }: AdminServices['options']['runtime'],
): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = timers.schedule(ms, () => late.resolve(false))
  try {
    return await Promise.race([done.then(() => true), late.promise])
  } finally {
    timer[Symbol.dispose]()
  }
}

function replayView({ replayed, skipped, remaining }: ReplayReport): object {
  return { replayed, skipped, remaining }
}

function purgeView({ purged, notReplayed, byGroup }: PurgeReport): object {
  const groups = byGroup.map(({ consumerGroup, count: letters }) => ({
    consumerGroup: consumerGroup ?? null,
    count: letters,
  }))
  return { purged, notReplayed, byGroup: groups }
}

const keptMs = 10_000
const waitMs = 10_000

interface Reading {
  readonly startedAt: number
  readonly stats: Promise<DeadLetterStats>
  read: number
}

/** Counts dead letters: one reading at a time for each binding, whose result is kept for ten seconds. */
class DeadLetterStatistics {
  readonly #services: AdminServices
  readonly #readings = new Map<string, Reading>()

  constructor(services: AdminServices) {
    this.#services = services
  }

  async answer(found: FoundBinding, call: Call, isFresh: boolean): Promise<Answer> {
    const reading = this.#begin(found, call.operator, isFresh)
    const { runtime } = this.#services.options
    if (await within(reading.stats, waitMs, runtime))
      return { body: { ...statsView(await reading.stats), complete: true } }
    const nothing = { notReplayed: null, oldest: null, newest: null, byException: {}, topics: [], others: 0 }
    return { status: 202, headers: { 'retry-after': '5' }, body: { ...nothing, count: reading.read, complete: false } }
  }

  read(found: FoundBinding, isFresh: boolean): Promise<DeadLetterStats> {
    return this.#begin(found, { by: 'dry run' }, isFresh).stats
  }

  #begin(found: FoundBinding, operator: Call['operator'], isFresh: boolean): Reading {
    const now = this.#services.options.runtime.clock.monotonic()
    const known = this.#readings.get(found.key)
    if (known !== undefined && (!isFresh || now - known.startedAt < 1_000) && now - known.startedAt < keptMs)
      return known
    const onProgress = ({ read }: { readonly read: number }): void => {
      reading.read = read
    }
    const stats = found.connector.admin.dltStats(labelOf(found), operator, { onProgress })
    const reading: Reading = { startedAt: now, read: 0, stats }
    // A failure is the answer of those who wait; the next request reads again.
    stats.catch(() => this.#readings.delete(found.key))
    this.#readings.set(found.key, reading)
    return reading
  }
}

function statsView({
  topics,
  count: letters,
  others,
  notReplayed,
  oldest,
  newest,
  byException,
}: DeadLetterStats): object {
  return {
    topics,
    count: letters,
    others,
    notReplayed,
    oldest: placeView(oldest),
    newest: placeView(newest),
    byException,
  }
}

function placeView(place: DeadLetterPlace | undefined): object | null {
  if (place === undefined) return null
  const { topic, partition, offset, deadAtMs, originalTopic, originalPartition, originalOffset, lastExceptionClass } =
    place
  return {
    id: `${topic}:${partition}:${offset}`,
    deadAt: instantOf(deadAtMs),
    originalTopic,
    originalPartition,
    originalOffset: originalOffset.toString(),
    lastExceptionClass,
  }
}
