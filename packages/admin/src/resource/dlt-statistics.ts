import type { DeadLetterStats } from '@waybill/connector'
import type { DeadLetterPlace } from '@waybill/connector/internal'
import { instantOf } from '../json/write-json.ts'
import type { Answer, Call } from '../route/call.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { named, nullable, type Schema } from '../schema/schema.ts'
import { boolean, instant, int64, integer } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import type { FoundBinding } from '../service/find-binding.ts'
import { words } from './answer-schemas.ts'
import { labelOf } from './command-routes.ts'

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

/** The statistics of the dead letters of a binding. */
export const statsAnswer: Schema = named(
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

const keptMs = 10_000
const waitMs = 10_000

interface Reading {
  readonly startedAt: number
  readonly stats: Promise<DeadLetterStats>
  read: number
}

/** Counts dead letters: one reading at a time for each binding, whose result is kept for ten seconds. */
export class DeadLetterStatistics {
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
